#!/bin/bash
# A small Ceph file system on 127.0.0.1 that keeps its data in memory, without systemd: one monitor,
# four OSDs, one metadata server, mounted by ceph-fuse.
#
#   cluster.sh up DIR      DIR is made, all files are in it; the mount is DIR/mnt, and
#                          CEPH_CONF=DIR/ceph.conf is for its clients. Takes some 15 s, at most 120.
#   cluster.sh down DIR    unmounts, ends the processes that `up` started, and removes DIR
#
# No manager runs: only statistics would need one.
set -euo pipefail

osds=4

write_configuration() {
    local port
    port=$(/usr/bin/python3 -c '
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1])')
    fsid=$(new_uuid)
    monitor="[v2:127.0.0.1:$port]"
    cat >"$CEPH_CONF" <<END
[global]
fsid = $fsid
mon host = $monitor
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false

run dir = $directory/run
admin socket = $directory/run/\$name.\$pid.asok
pid file = $directory/run/\$name.pid
log file = $directory/log/\$name.log
crash dir = $directory/log
mon data = $directory/mon
osd data = $directory/osd\$id
mds data = $directory/mds
keyring = $directory/keyring

# One copy of everything, as all OSDs are on one host.
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 268435456
# How full the host's disk is does not matter.
mon data avail warn = 1
mon data avail crit = 1
END
}

new_uuid() {
    cat /proc/sys/kernel/random/uuid
}

start_monitor() {
    ceph-authtool --create-keyring "$directory/keyring" --gen-key -n mon. --cap mon 'allow *'
    ceph-authtool "$directory/keyring" --gen-key -n client.admin \
        --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' --cap mgr 'allow *'
    monmaptool --create --addv a "$monitor" --fsid "$fsid" "$directory/monmap"
    ceph-mon --mkfs -i a --monmap "$directory/monmap"
    ceph-mon -i a
}

start_osds() {
    local id uuid
    for ((id = 0; id < osds; ++id)); do
        uuid=$(new_uuid)
        ceph osd new "$uuid" "$id"
        mkdir "$directory/osd$id"
        ceph-osd -i "$id" --mkfs --osd-uuid "$uuid"
        ceph-osd -i "$id"
    done
}

make_file_system() {
    ceph osd pool create metadata 8 8
    ceph osd pool create data 16 16
    ceph fs new fs metadata data
    ceph-mds -i a
    until ceph mds stat | grep -q up:active; do sleep 0.2; done
}

start() {
    mkdir "$directory"/{run,log,mon,mds,mnt}
    write_configuration
    start_monitor
    start_osds
    make_file_system
    ceph-fuse "$directory/mnt"
}

up() {
    mkdir "$directory"
    if ! timeout 120 "$(realpath "$0")" start "$directory" >"$directory/up.log" 2>&1 </dev/null; then
        echo "cluster.sh: Ceph does not come up:" >&2
        tail -n 20 "$directory/up.log" >&2
        end_processes KILL || true # of half a cluster, each part waits for others
        down
        exit 1
    fi
}

# The process of a pid file, if it is still one of ours: numbers are used again.
process_of() {
    local id
    id=$(cat "$1")
    if tr '\0' ' ' 2>/dev/null <"/proc/$id/environ" | grep -qF "CEPH_CONF=$CEPH_CONF"; then
        echo "$id"
    fi
}

running() {
    local pid_file
    for pid_file in "$directory"/run/*.pid; do
        if [ -f "$pid_file" ]; then process_of "$pid_file"; fi
    done
}

end_processes() {
    local signal=$1 try id
    for id in $(running); do kill "-$signal" "$id" 2>/dev/null || true; done
    for ((try = 0; try < 50; ++try)); do
        [ -n "$(running)" ] || return 0
        sleep 0.1
    done
    return 1
}

# A look at the folder itself would fail, or wait, where the mount's process has ended or hangs.
mounted() {
    grep -qF " $directory/mnt " /proc/self/mounts
}

down() {
    if mounted; then timeout 20 umount "$directory/mnt" || umount -l "$directory/mnt"; fi
    end_processes TERM || end_processes KILL
    rm -rf --one-file-system "$directory"
}

directory=$(realpath -m "${2:?usage: cluster.sh up|down DIR}")
export CEPH_CONF=$directory/ceph.conf
case $1 in
    up | start) "$1" ;;
    down)
        [ -e "$directory" ] || exit 0
        [ -e "$directory/up.log" ] || { echo "cluster.sh: $directory is not a cluster's" >&2; exit 1; }
        down
        ;;
    *) echo "usage: cluster.sh up|down DIR" >&2; exit 1 ;;
esac
