import type { Hazard } from './hazards'
import type { Arrival } from './receiver'
import type { RecordedAttempt, Records } from './records'

/** A webhook that arrived twice or has no record, with an explanation if there is one. */
export interface Anomaly {
  eventId: string
  at: string
  /** null if nothing explains the anomaly. */
  because: string | null
}

export interface Verdict {
  accepted: number
  /** References in successful responses whose leads are not stored. */
  leadsLost: string[]
  /** References of stored leads that were in none of the responses. */
  leadsWithoutResponse: string[]
  /** Leads whose event is not stored in webhook-service. */
  eventsLost: string[]
  /** Leads whose webhooks never got the response 200. */
  webhooksLost: string[]
  /** Successful attempts after which the event was sent again. */
  duplicates: Anomaly[]
  /** Attempts that arrived but are not recorded. */
  unrecorded: Anomaly[]
  /**
   * Deliveries whose attempts are not numbered 1, 2, 3 …, or that record more responses than the receiver
   * gave.
   */
  attemptsWrong: string[]
  /**
   * Events that are not numbered 1, 2, 3 … in their order, or that arrived at least once with a wrong number.
   */
  numbersWrong: string[]
}

/** Unless a hazard happens, even a busy machine records the result of an attempt within this time. */
const RECORDED_WITHIN_MS = 3000
/**
 * How long a service may write results to a lost PostgreSQL machine before it notices the loss. The service
 * uses the connections for results every five seconds, and declares a connection dead after twelve seconds of
 * silence.
 */
const LOST_UNNOTICED_MS = 17_000
/** The tolerance for clocks and scheduling on one machine. */
const SLACK_MS = 250

/**
 * Returns whether a hazard can lose the result of an attempt. Only webhook-service, which makes attempts, and
 * PostgreSQL, which records them, can lose a result.
 */
const canLoseResults = ({ process }: Hazard) => /webhook-service|postgres/.test(process)

const groupBy = <Item>(items: Item[], readKey: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(readKey(item))
    if (group) group.push(item)
    else groups.set(readKey(item), [item])
  }
  return groups
}

/** Describes a hazard that may have lost the result of an attempt. Returns null if there was none. */
const explainByHazard = (arrival: Arrival, hazards: Hazard[]): string | null => {
  const end = (arrival.respondedAt ?? arrival.at) + RECORDED_WITHIN_MS
  const findEnd = ({ what, from, until }: Hazard) =>
    what === 'lost' ? Math.max(until, from + LOST_UNNOTICED_MS) : until
  const hazard = hazards.find(
    (candidate) =>
      canLoseResults(candidate) && candidate.from <= end && findEnd(candidate) >= arrival.at - SLACK_MS,
  )
  return hazard ? `${hazard.process} was ${hazard.what} at ${new Date(hazard.from).toISOString()}` : null
}

const createAnomaly = (arrival: Arrival, because: string | null): Anomaly => ({
  eventId: arrival.id,
  at: new Date(arrival.at).toISOString(),
  because,
})

/**
 * Returns the duplicates of an event: all successful arrivals except the last one. A recorded attempt without
 * a response explains a duplicate that arrived at the time of the attempt: the receiver responded, but only
 * after the timeout. Each such attempt explains one duplicate.
 */
const findDuplicates = (arrivals: Arrival[], attempts: RecordedAttempt[], hazards: Hazard[]): Anomaly[] => {
  const withoutResponse = attempts.filter(({ status }) => status === null)
  const successes = arrivals.filter(({ status }) => status === 200)
  return successes.slice(0, -1).map((arrival) => {
    const index = withoutResponse.findIndex(
      ({ from, until }) => from - SLACK_MS <= arrival.at && arrival.at <= until + SLACK_MS,
    )
    if (index < 0) return createAnomaly(arrival, explainByHazard(arrival, hazards))
    const [attempt] = withoutResponse.splice(index, 1)
    return createAnomaly(arrival, `the attempt ended without a response: ${attempt!.error}`)
  })
}

/**
 * If there are more arrivals than recorded attempts, returns as many arrivals as the difference. The records
 * do not tell which arrivals were not recorded, so this function chooses the arrivals that a hazard explains
 * before the others.
 */
const findUnrecorded = (arrivals: Arrival[], attempts: RecordedAttempt[], hazards: Hazard[]): Anomaly[] => {
  const count = arrivals.length - attempts.length
  if (count <= 0) return []
  const anomalies = arrivals.map((arrival) => createAnomaly(arrival, explainByHazard(arrival, hazards)))
  const explained = anomalies.filter(({ because }) => because !== null)
  const unexplained = anomalies.filter(({ because }) => because === null)
  return [...explained, ...unexplained].slice(0, count)
}

const areAttemptsWrong = (attempts: RecordedAttempt[], attemptCount: number, arrivals: Arrival[]): boolean =>
  attempts.length !== attemptCount ||
  attempts.some(({ number }, index) => number !== index + 1) ||
  attempts.filter(({ status }) => status !== null).length > arrivals.length

type Lead = Records['leads'][number]
type Delivery = Records['deliveries'][number]

/**
 * Compares the accepted leads with the records in the databases and with the attempts that the receiver saw.
 */
export const compare = ({
  accepted,
  records,
  listArrivals,
  hazards,
}: {
  accepted: string[]
  records: Records
  listArrivals: (eventId: string) => Arrival[]
  hazards: Hazard[]
}): Verdict => {
  const { leads, deliveries, events } = records
  const storedReferences = new Set(leads.map(({ reference }) => reference))
  const acceptedReferences = new Set(accepted)
  const storedEvents = new Set(events.map(({ id }) => id))
  const attemptsByEvent = groupBy(records.attempts, ({ eventId }) => eventId)
  const listAttempts = ({ eventId }: Delivery) => attemptsByEvent.get(eventId) ?? []
  const hasEvent = ({ eventId }: Lead) => eventId !== null && storedEvents.has(eventId)
  const hasWebhook = ({ eventId }: Lead) => listArrivals(eventId ?? '').some(({ status }) => status === 200)
  const listReferences = (found: Lead[]) => found.map(({ reference }) => reference)
  return {
    accepted: accepted.length,
    leadsLost: accepted.filter((reference) => !storedReferences.has(reference)),
    leadsWithoutResponse: listReferences(leads.filter(({ reference }) => !acceptedReferences.has(reference))),
    eventsLost: listReferences(leads.filter((lead) => !hasEvent(lead))),
    webhooksLost: listReferences(leads.filter((lead) => !hasWebhook(lead))),
    duplicates: deliveries.flatMap((delivery) =>
      findDuplicates(listArrivals(delivery.eventId), listAttempts(delivery), hazards),
    ),
    unrecorded: deliveries.flatMap((delivery) =>
      findUnrecorded(listArrivals(delivery.eventId), listAttempts(delivery), hazards),
    ),
    attemptsWrong: deliveries
      .filter((delivery) =>
        areAttemptsWrong(listAttempts(delivery), delivery.attemptCount, listArrivals(delivery.eventId)),
      )
      .map(({ id }) => id),
    numbersWrong: events
      .filter(
        ({ id, number }, index) =>
          number !== index + 1 || listArrivals(id).some((arrival) => arrival.number !== number),
      )
      .map(({ id }) => id),
  }
}
