#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

namespace unisono::testbed {

/// The FUSE handlers; the session's user data is a FileSystem.
fuse_lowlevel_ops handlers();

/// Parts of it.
void add_name_handlers(fuse_lowlevel_ops& operations);   ///< lookup, create, rename, folders
void add_data_handlers(fuse_lowlevel_ops& operations);   ///< open, read, write, flush to disk
void add_value_handlers(fuse_lowlevel_ops& operations);  ///< attributes of files

}  // namespace unisono::testbed
