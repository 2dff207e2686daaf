/**
 * Returns the SQL condition that an entry is open: an appointment or a callback that is neither cancelled nor
 * done. `entry` is the alias of its table. The indexes of open entries have this condition.
 */
export const isOpenEntry = (entry: string): string =>
  `${entry}.cancelled_at IS NULL AND ${entry}.done_at IS NULL`
