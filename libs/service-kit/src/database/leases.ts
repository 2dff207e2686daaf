/**
 * Returns an SQL condition that is true if a lease has ended or a job is due. `column` is the time at which
 * the lease ends or the job is due. `longest` is the longest lease, in SQL. The condition is also true if the
 * time is more than `longest` ahead. Such a time occurs after PostgreSQL's clock has gone back, for example
 * in a fail-over to a server whose clock is behind.
 */
export const hasEnded = (column: string, longest = "interval '1 minute'"): string =>
  `${column} NOT BETWEEN clock_timestamp() AND clock_timestamp() + ${longest}`
