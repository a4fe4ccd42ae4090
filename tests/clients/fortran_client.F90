! Writes and reads one matrix through collective MPI-IO, in whichever of the three Fortran bindings
! the build chose (BINDING_MPIF_H, BINDING_MPI or BINDING_MPI_F08). The rows are dealt out in blocks,
! so that in the file, which is in column order, the ranks interleave.
! usage: fortran_client FILE; prints "verdict: ok strategy=NAME" and ends with 0, or with 1.
#ifdef BINDING_MPI_F08
#define HANDLE(kind_of_handle) type(kind_of_handle)
#define STATUS(name) type(MPI_Status) :: name
#else
#define HANDLE(kind_of_handle) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#endif

program fortran_client
#if defined(BINDING_MPI_F08)
  use mpi_f08
#elif defined(BINDING_MPI)
  use mpi
#endif
  implicit none
#ifdef BINDING_MPIF_H
  include 'mpif.h'
#endif

  integer, parameter :: rows_per_rank = 5, columns = 203, halves = 2
  integer :: rank, ranks, failures, failures_everywhere, ierror
  character(len=512) :: path
  character(len=MPI_MAX_INFO_VAL) :: strategy
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Datatype) :: view

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, path)
  failures = 0
  strategy = ''

  call make_view()
  call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL, ierror)
  call open_file(ior(MPI_MODE_CREATE, MPI_MODE_RDWR))
  call write_matrix()
  call read_matrix()
  call note_strategy()
  call MPI_File_close(file, ierror)
  call open_file(MPI_MODE_RDONLY)
  call read_matrix()
  call check_in_file_order()
  call MPI_File_close(file, ierror)
  call MPI_Type_free(view, ierror)

  call MPI_Allreduce(failures, failures_everywhere, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. failures_everywhere == 0) print '(2a)', 'verdict: ok strategy=', trim(strategy)
  call MPI_Finalize(ierror)
  if (failures_everywhere /= 0) error stop 1

contains

  ! One half of the matrix: `columns` columns, of which each rank sees its rows.
  subroutine make_view()
    call MPI_Type_create_subarray(2, [rows_per_rank * ranks, columns], [rows_per_rank, columns], &
                                  [rows_per_rank * rank, 0], MPI_ORDER_FORTRAN, &
                                  MPI_DOUBLE_PRECISION, view, ierror)
    call MPI_Type_commit(view, ierror)
  end subroutine

  subroutine open_file(mode)
    integer, intent(in) :: mode
    integer(kind=MPI_OFFSET_KIND), parameter :: start = 0
    call MPI_File_open(MPI_COMM_WORLD, trim(path), mode, MPI_INFO_NULL, file, ierror)
    call MPI_File_set_view(file, start, MPI_DOUBLE_PRECISION, view, 'native', MPI_INFO_NULL, ierror)
  end subroutine

  elemental double precision function expected(row, column, half)
    integer, intent(in) :: row, column, half  ! all from 1, in the whole matrix
    expected = row + 1000d0 * column + 1000000d0 * half
  end function

  function my_part(half) result(part)
    integer, intent(in) :: half
    double precision :: part(rows_per_rank, columns)
    integer :: row, column
    do column = 1, columns
      do row = 1, rows_per_rank
        part(row, column) = expected(rank * rows_per_rank + row, column, half)
      end do
    end do
  end function

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    failures = failures + 1
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
  end subroutine

  subroutine check_count(status_to_check, what)
    STATUS(status_to_check)
    character(len=*), intent(in) :: what
    integer :: count
    call MPI_Get_count(status_to_check, MPI_DOUBLE_PRECISION, count, ierror)
    call check(count == rows_per_rank * columns, what // ': count')
  end subroutine

  subroutine check_position(values, what)
    integer, intent(in) :: values
    character(len=*), intent(in) :: what
    integer(kind=MPI_OFFSET_KIND) :: position
    call MPI_File_get_position(file, position, ierror)
    call check(position == values, what // ': position')
  end subroutine

  ! The first half by the file pointer, the second at an explicit offset.
  subroutine write_matrix()
    integer(kind=MPI_OFFSET_KIND) :: offset
    double precision :: part(rows_per_rank, columns)
    STATUS(status_now)
    part = my_part(1)
    call MPI_File_write_all(file, part, rows_per_rank * columns, MPI_DOUBLE_PRECISION, status_now, ierror)
    call check(ierror == MPI_SUCCESS, 'write_all')
    call check_count(status_now, 'write_all')
    call check_position(rows_per_rank * columns, 'after write_all')
    part = my_part(2)
    offset = rows_per_rank * columns
    call MPI_File_write_at_all(file, offset, part, rows_per_rank * columns, MPI_DOUBLE_PRECISION, &
                               status_now, ierror)
    call check(ierror == MPI_SUCCESS, 'write_at_all')
    call check_count(status_now, 'write_at_all')
    call check_position(rows_per_rank * columns, 'after write_at_all')
    call MPI_File_sync(file, ierror)
  end subroutine

  ! Both halves, the second one at an explicit offset before the pointer moves.
  subroutine read_matrix()
    integer(kind=MPI_OFFSET_KIND) :: offset
    double precision :: part(rows_per_rank, columns)
    STATUS(status_now)
    offset = rows_per_rank * columns
    part = -1
    call MPI_File_read_at_all(file, offset, part, rows_per_rank * columns, MPI_DOUBLE_PRECISION, &
                              status_now, ierror)
    call check_count(status_now, 'read_at_all')
    call check(all(part == my_part(2)), 'read_at_all: contents')
    offset = 0
    call MPI_File_seek(file, offset, MPI_SEEK_SET, ierror)
    part = -1
    call MPI_File_read_all(file, part, rows_per_rank * columns, MPI_DOUBLE_PRECISION, status_now, ierror)
    call check_count(status_now, 'read_all')
    call check(all(part == my_part(1)), 'read_all: contents')
    call check_position(rows_per_rank * columns, 'after read_all')
  end subroutine

  ! The whole file as the operating system sees it: an MPI library cannot hide a wrong layout here.
  subroutine check_in_file_order()
    double precision :: whole(rows_per_rank * ranks, columns, halves)
    integer :: unit, half, row, column
    logical :: right
    open (newunit=unit, file=trim(path), access='stream', form='unformatted', action='read', &
          status='old')
    read (unit) whole
    close (unit)
    right = .true.
    do half = 1, halves
      do column = 1, columns
        do row = 1, rows_per_rank * ranks
          right = right .and. whole(row, column, half) == expected(row, column, half)
        end do
      end do
    end do
    call check(right, 'file contents')
  end subroutine

  subroutine note_strategy()
    HANDLE(MPI_Info) :: info
    logical :: found
    call MPI_File_get_info(file, info, ierror)
    call MPI_Info_get(info, 'unisono_strategy', MPI_MAX_INFO_VAL - 1, strategy, found, ierror)
    if (.not. found) strategy = ''
    call MPI_Info_free(info, ierror)
  end subroutine

end program
