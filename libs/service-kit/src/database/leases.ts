/**
 * Returns an SQL condition that is true if a lease has ended or a job is due: the time in `column` has
 * passed, or lies further ahead than the longest lease. The second case occurs after PostgreSQL's clock has
 * gone back, for example in a fail-over to a server whose clock is behind. `longest` is the longest lease in
 * SQL.
 */
export const hasEnded = (column: string, longest = "interval '1 minute'"): string =>
  `${column} NOT BETWEEN clock_timestamp() AND clock_timestamp() + ${longest}`
