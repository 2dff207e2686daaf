/*
 * Which figures a lead adds to which days (GET /manage/figures). A test lead adds none. All figures have the
 * present referrer, status and user of the lead:
 *
 * - `created`, `lost` and the time to the first response: on the day on which the lead was created.
 * - `sold` and `value_sold`: on the day on which the lead was sold, while its status is `sold`.
 * - `appointments`: on the day on which an appointment was booked, even if it was cancelled later.
 *
 * The first response is the first entry in the lead's history by a user, or the lead's first note,
 * appointment or callback, whichever came first. A deleted note no longer counts. A lead with a creation time
 * from an import has no time to the first response. Days are days of the setting TIME_ZONE.
 */

/** Each bucket of times is 5 % longer than the one before. Bucket 0 starts at one second. */
const BUCKET_GROWTH = 1.05

/** Returns the time in the middle of a bucket, in whole seconds. */
export const readBucket = (bucket: number): number => Math.round(BUCKET_GROWTH ** (bucket + 0.5))

const OF_LEAD = 'account_id = l.account_id AND lead_id = l.id'

/** SQL: the responses to a lead `l`. Each part finds the first response of its kind by an index. */
const FIRST_RESPONSES = [
  // An erasure is no response.
  `SELECT created_at FROM lead_changes
    WHERE ${OF_LEAD} AND user_id IS NOT NULL AND action IS DISTINCT FROM 'erased' ORDER BY version LIMIT 1`,
  `SELECT created_at FROM appointments WHERE ${OF_LEAD} ORDER BY id LIMIT 1`,
  `SELECT created_at FROM callbacks WHERE ${OF_LEAD} ORDER BY id LIMIT 1`,
  `SELECT created_at FROM notes WHERE ${OF_LEAD} ORDER BY id LIMIT 1`,
]
  .map((first) => `(${first})`)
  .join(', ')

/** The maximum number of history entries that are read to find the time of an old sale. */
const READ_CHANGES = 1000

// A lead has no `sold_at` if an earlier release marked it as sold. The last change of the status was then the
// sale. An erasure empties the values in the history, but keeps the names of the changed fields.
const SOLD_AT = `coalesce(l.sold_at, (
    SELECT created_at FROM (
      SELECT version, created_at, changes FROM lead_changes
      WHERE ${OF_LEAD} ORDER BY version DESC LIMIT ${READ_CHANGES}
    ) c
    WHERE EXISTS (SELECT FROM json_array_elements(changes) change WHERE change ->> 'field' = 'status')
    ORDER BY version DESC LIMIT 1
  ), l.dated_at, l.created_at)`

// Excludes NULL before `greatest`, which would ignore it.
const RESPONSE_BUCKET = `(
    SELECT floor(ln(greatest(seconds, 1)) / ln(${BUCKET_GROWTH}::float8))::int
    FROM (SELECT extract(epoch FROM least(${FIRST_RESPONSES}) - l.created_at)::float8 AS seconds) r
    WHERE seconds IS NOT NULL AND l.dated_at IS NULL
  )`

/** The columns of `lead_figures`. */
export const COLUMNS = `account_id, lead_id, day, referrer, status, user_id, created, appointments, sold,
  lost, value_sold, response_bucket`

/**
 * Returns SQL that selects the present COLUMNS of the leads in $2 (ids of leads of the account in $1). $3 is
 * the time zone. `keptBucket` is SQL for the bucket that a lead `l` keeps: an erasure deletes records of the
 * lead, which may include its first response. LATERAL with OFFSET 0 keeps PostgreSQL from starting with all
 * appointments of the account.
 */
export const selectFigures = (keptBucket: string): string => `
  WITH lead AS (
    SELECT l.id, l.referrer, l.status, coalesce(l.user_id, 0) AS user_id, l.value,
      coalesce(l.dated_at, l.created_at) AS created_at,
      CASE WHEN l.status = 'sold' THEN ${SOLD_AT} END AS sold_at,
      coalesce(${keptBucket}, ${RESPONSE_BUCKET}) AS bucket
    FROM leads l
    WHERE l.account_id = $1 AND l.id = ANY ($2::bigint[]) AND NOT l.test AND l.status <> 'test'
  ), happened AS (
    SELECT lead.*, created_at AS at, 1 AS created, 0 AS appointments, 0 AS sold,
      (status = 'lost')::int AS lost, 0 AS value_sold, bucket AS response_bucket
    FROM lead
    UNION ALL SELECT lead.*, sold_at, 0, 0, 1, 0, value, NULL FROM lead WHERE sold_at IS NOT NULL
    UNION ALL SELECT lead.*, a.created_at, 0, 1, 0, 0, 0, NULL
    FROM lead CROSS JOIN LATERAL (
      SELECT created_at FROM appointments WHERE account_id = $1 AND lead_id = lead.id OFFSET 0
    ) a
  )
  SELECT $1::bigint AS account_id, id AS lead_id, (at AT TIME ZONE $3)::date AS day, referrer, status,
    user_id, sum(created)::int AS created, sum(appointments)::int AS appointments, sum(sold)::int AS sold,
    sum(lost)::int AS lost, sum(value_sold)::bigint AS value_sold, max(response_bucket) AS response_bucket
  FROM happened
  GROUP BY 1, 2, 3, 4, 5, 6`
