import { LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import type { Database, Logger, Round } from '@leadwire/service-kit'
import type { Erasure } from './erasure'
import type { ErasureJob, PlaceDeps } from './erasure-job'
import { PLACES } from './places'

const AT_ONCE = 10
/** Anything in flight when the lead was erased, such as an event being published, has arrived after this time. */
const IN_FLIGHT_S = 15

// The lease: when a process dies over it, another takes it up. Whatever is done twice is as if it were done once.
const CLAIM = `
  WITH found AS MATERIALIZED (
    SELECT account_id, lead_id FROM erasures
    WHERE finished_at IS NULL AND due_at <= clock_timestamp()
    ORDER BY due_at LIMIT ${AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE erasures e SET due_at = clock_timestamp() + interval '30 seconds'
  FROM found f JOIN leads l ON l.account_id = f.account_id AND l.id = f.lead_id
  WHERE e.account_id = f.account_id AND e.lead_id = f.lead_id
  RETURNING e.account_id AS "accountId", e.lead_id AS "leadId", l.reference, e.places, e.events,
    e.requested_at < clock_timestamp() - interval '${IN_FLIGHT_S} seconds' AS arrived`

const STREAM_MAX_AGE_S = LEADS_STREAM_CONFIG.max_age / 1_000_000_000

// Keep the list of events no longer than it is needed.
const RECORD = `
  UPDATE erasures SET places = $3, stream_until = $4::timestamptz + interval '${STREAM_MAX_AGE_S} seconds',
    finished_at = CASE WHEN $5 THEN clock_timestamp() END, events = CASE WHEN $5 THEN '[]' ELSE events END,
    due_at = clock_timestamp() + interval '1 second'
  WHERE account_id = $1 AND lead_id = $2 AND finished_at IS NULL`

type Deps = PlaceDeps & { logger: Logger }

interface ClaimedRow extends Omit<Erasure, 'places' | 'events'> {
  places: string
  events: string
  arrived: boolean
}

const jobOf = (row: ClaimedRow): ErasureJob => {
  const { places, events }: Pick<Erasure, 'places' | 'events'> = {
    places: JSON.parse(row.places),
    events: JSON.parse(row.events),
  }
  const placed = events.flatMap(({ id, sequence }) => (sequence === null ? [] : [[id, sequence] as const]))
  return { ...row, places, events, messages: new Map(placed), unplacedAt: null }
}

const timeOf = async (database: Database) =>
  (await database.query<{ at: string }>({ text: 'SELECT clock_timestamp() AS at' }))[0]!.at

// A place that fails is tried again; the others continue meanwhile.
const erasePlaces = async (job: ErasureJob, deps: Deps): Promise<void> => {
  for (const { erases, erase } of PLACES) {
    const counts = await erase(job, deps).catch((error: unknown) => {
      deps.logger.warn({ err: error, lead: job.reference, place: erases[0]!.what }, 'not erased yet')
      return undefined
    })
    const erased_at = counts ? await timeOf(deps.database) : null
    for (const [index, { what }] of erases.entries())
      Object.assign(job.places.find((place) => place.what === what)!, {
        count: counts?.[index] ?? null,
        erased_at,
      })
  }
}

const work = async (job: ErasureJob, deps: Deps): Promise<void> => {
  await erasePlaces(job, deps)
  const done = job.places.every(({ erased_at }) => erased_at !== null)
  const { accountId, leadId, places, unplacedAt } = job
  const values = [accountId, leadId, JSON.stringify(places), unplacedAt, done]
  await deps.database.query({ name: 'record-erasure', text: RECORD, values })
}

/** Takes up a few erasures that are open, for what is beyond this service's database. */
export const eraseOnce = async (deps: Deps): Promise<Round> => {
  const rows = await deps.database.query<ClaimedRow>({ name: 'claim-erasures', text: CLAIM })
  await Promise.all(rows.map((row) => work(jobOf(row), deps)))
  return rows.length === AT_ONCE || (rows.length > 0 && 'pause')
}
