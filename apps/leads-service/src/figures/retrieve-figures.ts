import { Figures } from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'
import { areFiguresCurrent } from '../jobs/figures/count-leads'
import { readBucket } from '../jobs/figures/lead-figures'
import type { Operation } from '../operation'

/** The maximum number of groups in a response. */
const MAX_GROUPS = 10_000

/** The column of each value of `group_by`. */
const COLUMNS: Record<string, string> = {
  day: 'day',
  referrer: 'referrer',
  status: 'status',
  user: 'user_id',
}

const IN_PERIOD = 'account_id = $1 AND day >= $2::date AND day <= $3::date'

/**
 * Returns the statement for groups by `columns`. It reads ranges of the primary keys of two tables, which
 * have at most as many rows as the period has leads, appointments and sales.
 */
const buildSelect = (columns: string): string => `
  WITH counted AS (
    SELECT ${columns}, sum(created)::bigint AS created, sum(appointments)::bigint AS appointments,
      sum(sold)::bigint AS sold, sum(lost)::bigint AS lost, sum(value_sold)::bigint AS value_sold
    FROM daily_figures WHERE ${IN_PERIOD} GROUP BY ${columns}
  ), bucketed AS (
    SELECT ${columns}, bucket, sum(sum(leads)) OVER (PARTITION BY ${columns} ORDER BY bucket) AS reached,
      sum(sum(leads)) OVER (PARTITION BY ${columns}) AS total
    FROM response_figures WHERE ${IN_PERIOD} GROUP BY ${columns}, bucket
  ), responded AS (
    SELECT ${columns}, min(bucket) FILTER (WHERE reached >= 0.5 * total) AS median,
      min(bucket) FILTER (WHERE reached >= 0.9 * total) AS p90
    FROM bucketed GROUP BY ${columns}
  )
  SELECT ${columns.replace('day', 'day::text')}, created, appointments, sold, lost, value_sold, median, p90
  FROM counted LEFT JOIN responded USING (${columns})
  ORDER BY ${columns} LIMIT ${MAX_GROUPS + 1}`

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
}

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
 * more than 10,000 groups.
 */
export const retrieveFigures: Operation<'retrieveFigures'> = async ({ database }, request) => {
  const { accountId, from, to, groupBy } = request
  // Reads this first: leads that are counted meanwhile do no harm.
  const isCurrent = await areFiguresCurrent(database, accountId)
  const rows = await selectGroups(database, groupBy, [accountId, from, to])
  if (rows.length > MAX_GROUPS)
    throw ServiceError.invalid({
      to: [`The period has more than ${MAX_GROUPS} groups. Choose a shorter period or another group_by.`],
    })
  return { figures: rows.map(toFigures), isCurrent }
}
