! Four broadcasts of 75,000 integers, each compared with what rank 1 sent.
program broadcasts
  @MPI@
  implicit none
  integer, parameter :: n = 75000
  integer :: message(n), rank, error, round, i, wrong
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  wrong = 0
  do round = 1, 4
    do i = 1, n
      message(i) = merge(i * 7 + round, 0, rank == 1)
    end do
    call MPI_Bcast(message, n, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
    do i = 1, n
      if (message(i) /= i * 7 + round) wrong = wrong + 1
    end do
  end do
  if (wrong /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize(error)
end program
