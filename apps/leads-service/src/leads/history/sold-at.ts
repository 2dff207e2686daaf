/**
 * Returns SQL for `sold_at` in an UPDATE of `leads`: the time at which the lead was sold, or NULL if its new
 * status is not `sold`. A lead that stays sold keeps its time. `status` is the new status, and `now` is the
 * time of the change. Both are SQL.
 */
export const soldAt = (status: string, now: string): string =>
  `CASE WHEN ${status} <> 'sold' THEN NULL WHEN status = 'sold' THEN sold_at ELSE ${now}::timestamptz END`
