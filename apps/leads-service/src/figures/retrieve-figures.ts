import { Figures } from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'
import { areFiguresCurrent } from '../jobs/figures/count-leads'
import { readBucket } from '../jobs/figures/lead-figures'
import type { Operation } from '../operation'

/** The maximum number of groups in a response. */
const MAX_GROUPS = 10_000
/** The maximum number of rows that a request reads. */
const MAX_ROWS = 400_000

/** The column of each value of `group_by`. */
const COLUMNS: Record<string, string> = {
  day: 'day',
  referrer: 'referrer',
  status: 'status',
  user: 'user_id',
}

/** SQL: the rows of a table in the period. A request that reaches the limit in either table is refused. */
const selectPeriod = (table: string): string => `(
      SELECT * FROM ${table} WHERE account_id = $1 AND day >= $2::date AND day <= $3::date
      LIMIT ${MAX_ROWS + 1}
    ) r`

/**
 * Returns the statement for groups by `columns`. It reads ranges of the primary keys of two tables. UNION ALL
 * takes the place of a join, because the settings of connections exclude hash joins, and a nested loop would
 * compare all groups with each other.
 */
const buildSelect = (columns: string): string => `
  WITH bucketed AS (
    SELECT ${columns}, bucket, sum(sum(leads)) OVER (PARTITION BY ${columns} ORDER BY bucket) AS reached,
      sum(sum(leads)) OVER (PARTITION BY ${columns}) AS total, count(*) AS read
    FROM ${selectPeriod('response_figures')} GROUP BY ${columns}, bucket
  ), grouped AS (
    SELECT ${columns}, sum(created) AS created, sum(appointments) AS appointments, sum(sold) AS sold,
      sum(lost) AS lost, sum(value_sold) AS value_sold, NULL::int AS median, NULL::int AS p90,
      count(*) AS read
    FROM ${selectPeriod('daily_figures')} GROUP BY ${columns}
    UNION ALL
    SELECT ${columns}, 0, 0, 0, 0, 0, min(bucket) FILTER (WHERE reached >= 0.5 * total),
      min(bucket) FILTER (WHERE reached >= 0.9 * total), sum(read)
    FROM bucketed GROUP BY ${columns}
  )
  SELECT ${columns.replace('day', 'day::text')}, sum(created)::bigint AS created,
    sum(appointments)::bigint AS appointments, sum(sold)::bigint AS sold, sum(lost)::bigint AS lost,
    sum(value_sold)::bigint AS value_sold, max(median) AS median, max(p90) AS p90,
    sum(sum(read)) OVER ()::bigint AS read
  FROM grouped GROUP BY ${columns} ORDER BY ${columns} LIMIT ${MAX_GROUPS + 1}`

interface Row {
  day?: string
  referrer?: string
  status?: string
  /** 0 for leads that are not assigned. */
  user_id?: number
  created: number
  appointments: number
  sold: number
  lost: number
  value_sold: number
  median: number | null
  p90: number | null
  /** The number of rows that the statement has read. The same in all rows. */
  read: number
}

// PostgreSQL plans for short periods. A bitmap scan would read the index of the whole period before the LIMIT
// ends it.
const SETTINGS = ['enable_bitmapscan = off']

const selectGroups = (db: Transaction, groupBy: string[], values: unknown[]): Promise<Row[]> => {
  const columns = groupBy.map((name) => COLUMNS[name]!).join(', ')
  return db.query<Row>({ name: `figures-by-${groupBy.join('-')}`, text: buildSelect(columns), values })
}

const toSeconds = (bucket: number | null): number | undefined =>
  bucket === null ? undefined : readBucket(bucket)

const toFigures = ({ user_id, value_sold, median, p90, ...row }: Row): Figures =>
  Figures.fromPartial({
    ...row,
    userId: user_id,
    valueSold: value_sold,
    responseMedianSeconds: toSeconds(median),
    responseP90Seconds: toSeconds(p90),
  })

/**
 * Returns the figures of the days from `from` to `to`, grouped by `groupBy`. Throws `invalid` if there are
 * more than 10,000 groups, or more than 400,000 rows to read.
 */
export const retrieveFigures: Operation<'retrieveFigures'> = async ({ database }, request) => {
  const { accountId, from, to, groupBy } = request
  // Reads this first: leads that are counted meanwhile do no harm.
  const isCurrent = await areFiguresCurrent(database, accountId)
  const rows = await selectGroups(database.with('figures', SETTINGS), groupBy, [accountId, from, to])
  if (rows[0] && rows[0].read > MAX_ROWS)
    throw ServiceError.invalid({ to: ['The period has too many figures. Choose a shorter period.'] })
  if (rows.length > MAX_GROUPS)
    throw ServiceError.invalid({
      to: [`The period has more than ${MAX_GROUPS} groups. Choose a shorter period or another group_by.`],
    })
  return { figures: rows.map(toFigures), isCurrent }
}
