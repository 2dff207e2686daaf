import {
  columnsByName,
  type Database,
  type OpenTransaction,
  type Round,
  statement,
} from '@leadwire/service-kit'
import { reportExhausted, reportFailing, reportRecovered } from '../../endpoints/state/endpoint-reports'

/** How many attempts one transaction reviews. */
const BATCH = 1000
/**
 * An endpoint is reported as failing after this many failed attempts of one delivery, or earlier if a
 * delivery is exhausted.
 */
const FAILING_ATTEMPTS = 3

interface UnreviewedAttempt {
  endpointId: number
  deliveryId: number
  number: number
  /** In ISO 8601 with microseconds, like all times in this file. Such times can be compared as strings. */
  startedAt: string
  error: string | null
  isExhausted: boolean
  /** Whether the event is in the log of its account. A failed attempt of any other event causes no report. */
  isLogged: boolean
}

interface EndpointState {
  endpointId: number
  /**
   * When the first failed attempt since the last success began. Null if no attempt has failed since that
   * success.
   */
  failingSince: string | null
  lastSuccessAt: string | null
}

const take = statement<UnreviewedAttempt>('take-unreviewed-attempts')`
  DELETE FROM unreviewed_attempts WHERE id = ANY (ARRAY (
    SELECT id FROM unreviewed_attempts ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  ))
  RETURNING endpoint_id AS "endpointId", delivery_id AS "deliveryId", number, started_at AS "startedAt", error,
    is_exhausted AS "isExhausted", is_logged AS "isLogged"`

// Ignores a success in the future, which was recorded before PostgreSQL's clock went back.
const readStates = statement<EndpointState>('read-states-of-endpoints')`
  SELECT p.id AS "endpointId", f.since AS "failingSince",
    (SELECT max(last_success_at) FROM endpoint_hours h
     WHERE h.endpoint_id = p.id AND last_success_at <= clock_timestamp()) AS "lastSuccessAt"
  FROM unnest(:endpointIds::bigint[]) AS p (id) LEFT JOIN endpoint_failures f ON f.endpoint_id = p.id`

const readFirstAttempts = statement<{ deliveryId: number; startedAt: string }>('read-first-attempts')`
  SELECT delivery_id AS "deliveryId", started_at AS "startedAt" FROM attempts
  WHERE delivery_id = ANY (:deliveryIds::bigint[]) AND number = 1`

const deleteEndedFailures = statement('delete-ended-failures')`
  DELETE FROM endpoint_failures f USING unnest(:endpointId::bigint[], :at::timestamptz[]) AS s (endpoint_id, at)
  WHERE f.endpoint_id = s.endpoint_id AND f.since <= s.at`

const saveFailures = statement('save-failures')`
  INSERT INTO endpoint_failures (endpoint_id, since)
  SELECT * FROM unnest(:endpointId::bigint[], :since::timestamptz[]) ORDER BY 1
  ON CONFLICT (endpoint_id) DO NOTHING`

const findEarliest = (times: string[]): string => times.toSorted()[0]!
const findLatest = (times: string[]): string => times.toSorted().at(-1)!
const listStarts = (attempts: UnreviewedAttempt[]) => attempts.map(({ startedAt }) => startedAt)

/** The result for one endpoint. */
interface Review {
  endpointId: number
  attempts: UnreviewedAttempt[]
  lastSuccessAt: string | null
  /** When the endpoint began to fail. Null if no failure has followed its last success. */
  since: string | null
}

const review = (state: EndpointState, all: UnreviewedAttempt[]): Review => {
  const { endpointId, failingSince, lastSuccessAt } = state
  const attempts = all.filter((attempt) => attempt.endpointId === endpointId)
  const isAfterSuccess = (time: string) => lastSuccessAt === null || time > lastSuccessAt
  const failures = attempts.filter(({ error, startedAt }) => error !== null && isAfterSuccess(startedAt))
  const isStillFailing = failingSince !== null && isAfterSuccess(failingSince)
  const firstFailure = failures.length > 0 ? findEarliest(listStarts(failures)) : null
  return {
    endpointId,
    attempts,
    lastSuccessAt,
    since: isStillFailing ? failingSince : firstFailure,
  }
}

const reviewBatch = async (tx: OpenTransaction): Promise<{ reviewed: number; hasReports: boolean }> => {
  const attempts = await take(tx)
  if (attempts.length === 0) return { reviewed: 0, hasReports: false }
  const endpointIds = [...new Set(attempts.map(({ endpointId }) => endpointId))].toSorted((a, b) => a - b)
  const [states, firstAttempts] = await Promise.all([
    readStates(tx, { endpointIds }),
    readFirstAttempts(tx, { deliveryIds: attempts.map(({ deliveryId }) => deliveryId) }),
  ])
  const reviews = states.map((state) => review(state, attempts))

  const succeeded = reviews.flatMap(({ endpointId, lastSuccessAt }) =>
    lastSuccessAt === null ? [] : [{ endpointId, at: lastSuccessAt }],
  )
  const successes = columnsByName(succeeded, 'endpointId', 'at')
  deleteEndedFailures.send(tx, successes)
  const recovered = await reportRecovered(tx, successes)

  const failing = reviews.filter(({ since }) => since !== null)
  saveFailures.send(tx, columnsByName(failing, 'endpointId', 'since'))

  const firstStarts = new Map(firstAttempts.map(({ deliveryId, startedAt }) => [deliveryId, startedAt]))
  const reported = failing.flatMap(({ endpointId, since, attempts: ofEndpoint }) => {
    const signs = ofEndpoint.filter(({ deliveryId, number, startedAt, error, isExhausted, isLogged }) => {
      const isEnough = number >= FAILING_ATTEMPTS || isExhausted
      // The endpoint has had no success since the first attempt of this delivery.
      const isUninterrupted = (firstStarts.get(deliveryId) ?? startedAt) >= since!
      return error !== null && isLogged && isEnough && isUninterrupted
    })
    return signs.length > 0 ? [{ endpointId, since: since!, at: findLatest(listStarts(signs)) }] : []
  })
  reportFailing.send(tx, columnsByName(reported, 'endpointId', 'since', 'at'))

  const exhausted = reviews.flatMap(({ endpointId, attempts: ofEndpoint }) => {
    const last = ofEndpoint.filter(({ isExhausted, isLogged }) => isExhausted && isLogged)
    if (last.length === 0) return []
    const starts = listStarts(last)
    const deliveryId = Math.max(...last.map((attempt) => attempt.deliveryId))
    return [
      { endpointId, count: last.length, since: findEarliest(starts), at: findLatest(starts), deliveryId },
    ]
  })
  reportExhausted.send(tx, columnsByName(exhausted, 'endpointId', 'count', 'since', 'at', 'deliveryId'))
  return {
    reviewed: attempts.length,
    hasReports: recovered.length + reported.length + exhausted.length > 0,
  }
}

/**
 * Creates one round of the review loop. A round reads attempts that the record step has queued, and decides
 * which endpoints are failing, have recovered or have exhausted deliveries. A round stores reports but does
 * not send them (see `sendEndpointReport`).
 *
 * Several processes may run rounds at the same time, and in any order. A failure counts only if it began
 * after the last success of its endpoint. A round reads the time of this success from `endpoint_hours`, so a
 * success counts even before its own review.
 */
export const createReviewAttempts =
  (database: Database, onReports: () => void): (() => Promise<Round>) =>
  async () => {
    const { reviewed, hasReports } = await database.transaction(reviewBatch)
    if (hasReports) onReports()
    return reviewed > 0
  }
