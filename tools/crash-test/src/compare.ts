import type { Hazard } from './hazards'
import type { Arrival } from './receiver'
import type { RecordedAttempt, Records } from './records'

/** An attempt that came again though it had succeeded, or that was not recorded, and why. */
export interface Repetition {
  eventId: string
  at: string
  /** Null: nothing explains it. */
  because: string | null
}

export interface Verdict {
  accepted: number
  /** References that were answered 200 and are not there. */
  leadsLost: string[]
  /** References that are there without a response. */
  leadsTwice: string[]
  /** Leads whose event webhook-service does not hold. */
  eventsLost: string[]
  /** Leads whose webhook never came and was answered 2xx. */
  webhooksLost: string[]
  /** Successful attempts that were made again. */
  duplicates: Repetition[]
  /** Attempts that came and are not recorded. */
  unrecorded: Repetition[]
  /** Deliveries whose record is not one attempt after the other, or has an answer that the receiver did not give. */
  attemptsWrong: string[]
  /** Events whose numbers are not dense, or that came with another number than theirs. */
  numbersWrong: string[]
}

/** A result is written within this time of its attempt, on a busy machine, unless something happens. */
const RECORDED_WITHIN_MS = 3000
/**
 * When PostgreSQL's machine is lost, a service writes results to it for so long: the connections for results are used every five seconds,
 * and found dead when nothing came for twelve.
 */
const LOST_UNNOTICED_MS = 17_000
/** Clocks and scheduling of one machine. */
const SLACK_MS = 250

/** An attempt is only lost while who makes it, or where its result is written, is killed or frozen. */
const isOfAttempts = ({ process }: Hazard) => /webhook-service|postgres/.test(process)

const groupBy = <Item>(items: Item[], keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

const hazardOf = (arrival: Arrival, hazards: Hazard[]): string | null => {
  const end = (arrival.answeredAt ?? arrival.at) + RECORDED_WITHIN_MS
  const until = (one: Hazard) =>
    one.what === 'lost' ? Math.max(one.until, one.from + LOST_UNNOTICED_MS) : one.until
  const hazard = hazards.find(
    (one) => isOfAttempts(one) && one.from <= end && until(one) >= arrival.at - SLACK_MS,
  )
  return hazard ? `${hazard.process} was ${hazard.what} at ${new Date(hazard.from).toISOString()}` : null
}

const repetition = (arrival: Arrival, because: string | null): Repetition => ({
  ...{ eventId: arrival.id, at: new Date(arrival.at).toISOString(), because },
})

/** Each recorded attempt without an answer explains one arrival within its time: the receiver answered, and it came too late. */
const duplicatesOf = (arrivals: Arrival[], attempts: RecordedAttempt[], hazards: Hazard[]): Repetition[] => {
  const unanswered = attempts.filter(({ status }) => status === null)
  const successes = arrivals.filter(({ status }) => status === 200)
  return successes.slice(0, -1).map((arrival) => {
    const index = unanswered.findIndex(
      ({ from, until }) => from - SLACK_MS <= arrival.at && arrival.at <= until + SLACK_MS,
    )
    if (index < 0) return repetition(arrival, hazardOf(arrival, hazards))
    const [attempt] = unanswered.splice(index, 1)
    return repetition(arrival, `the attempt ended without an answer: ${attempt!.error}`)
  })
}

/** Arrivals beyond what is recorded, the latest of those that something explains first. */
const unrecordedOf = (arrivals: Arrival[], attempts: RecordedAttempt[], hazards: Hazard[]): Repetition[] => {
  const count = arrivals.length - attempts.length
  if (count <= 0) return []
  const repetitions = arrivals.map((arrival) => repetition(arrival, hazardOf(arrival, hazards)))
  const explained = repetitions.filter(({ because }) => because !== null)
  const rest = repetitions.filter(({ because }) => because === null)
  return [...explained, ...rest].slice(0, count)
}

const isWrong = (attempts: RecordedAttempt[], attemptCount: number, arrivals: Arrival[]): boolean =>
  attempts.length !== attemptCount ||
  attempts.some(({ number }, index) => number !== index + 1) ||
  attempts.filter(({ status }) => status !== null).length > arrivals.length

/** Compares what was accepted, what is recorded, and what the receiver saw. */
export const compare = ({
  accepted,
  records,
  arrivalsOf,
  hazards,
}: {
  accepted: string[]
  records: Records
  arrivalsOf: (eventId: string) => Arrival[]
  hazards: Hazard[]
}): Verdict => {
  const { leads, deliveries } = records
  const there = new Set(leads.map(({ reference }) => reference))
  const answered = new Set(accepted)
  const held = new Set(records.events.map(({ id }) => id))
  const attempts = groupBy(records.attempts, ({ eventId }) => eventId)
  const came = ({ eventId }: { eventId: string | null }) => arrivalsOf(eventId ?? '')
  const ofEach = (
    find: (arrivals: Arrival[], attempts: RecordedAttempt[], hazards: Hazard[]) => Repetition[],
  ) => deliveries.flatMap((delivery) => find(came(delivery), attempts.get(delivery.eventId) ?? [], hazards))
  const isTold = (lead: Records['leads'][number]) => came(lead).some(({ status }) => status === 200)
  const referencesOf = (found: Records['leads']) => found.map(({ reference }) => reference)
  return {
    accepted: accepted.length,
    leadsLost: accepted.filter((reference) => !there.has(reference)),
    leadsTwice: referencesOf(leads.filter(({ reference }) => !answered.has(reference))),
    eventsLost: referencesOf(leads.filter(({ eventId }) => eventId === null || !held.has(eventId))),
    webhooksLost: referencesOf(leads.filter((lead) => !isTold(lead))),
    duplicates: ofEach(duplicatesOf),
    unrecorded: ofEach(unrecordedOf),
    attemptsWrong: deliveries
      .filter((delivery) =>
        isWrong(attempts.get(delivery.eventId) ?? [], delivery.attemptCount, came(delivery)),
      )
      .map(({ id }) => id),
    numbersWrong: records.events
      .filter(
        ({ id, number }, index) =>
          number !== index + 1 || arrivalsOf(id).some((arrival) => arrival.number !== number),
      )
      .map(({ id }) => id),
  }
}
