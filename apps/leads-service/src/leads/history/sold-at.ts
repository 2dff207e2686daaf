/**
 * Returns SQL for `sold_at` in an UPDATE of `leads`: the time at which the lead was sold, or NULL if its new
 * status is neither `sold` nor `duplicate`. A lead that stays sold keeps its time, and a lead that is marked
 * as a duplicate keeps its time for when the mark is removed. `status` is the new status, and `now` is the
 * time of the change. Both are SQL.
 */
export const soldAt = (status: string, now: string): string => `CASE
    WHEN ${status} = 'duplicate' THEN sold_at
    WHEN ${status} <> 'sold' THEN NULL
    WHEN status = 'sold' THEN sold_at
    WHEN status = 'duplicate' THEN coalesce(sold_at, ${now}::timestamptz)
    ELSE ${now}::timestamptz END`
