import { compare } from './compare'
import type { Hazard } from './hazards'
import type { Arrival } from './receiver'
import type { RecordedAttempt, Records } from './records'

const at = Date.parse('2026-11-21T09:30:00Z')

const createArrival = (after: number, status = 200): Arrival => ({
  id: 'event',
  number: 1,
  at: at + after,
  respondedAt: at + after + 2,
  status,
})
const createAttempt = (number: number, after: number, status: number | null = 200): RecordedAttempt => ({
  deliveryId: '1',
  eventId: 'event',
  number,
  from: at + after - 1,
  until: at + after + 5,
  status,
  error: status === null ? 'timeout' : null,
})
const createKill = (process: string, after: number): Hazard => ({
  what: 'killed',
  process,
  from: at + after,
  until: at + after + 1000,
})

const runCompare = ({
  arrivals = [createArrival(0)],
  attempts = [createAttempt(1, 0)],
  hazards = [],
  over = {},
}: {
  arrivals?: Arrival[]
  attempts?: RecordedAttempt[]
  hazards?: Hazard[]
  over?: Partial<Records>
}) =>
  compare({
    accepted: ['lead'],
    records: {
      leads: [{ reference: 'lead', eventId: 'event' }],
      events: [{ id: 'event', number: 1 }],
      deliveries: [{ id: '1', eventId: 'event', status: 'delivered', attemptCount: attempts.length }],
      attempts,
      ...over,
    },
    listArrivals: (id) => (id === 'event' ? arrivals : []),
    hazards,
  })

const NO_FINDINGS = {
  leadsLost: [],
  leadsWithoutResponse: [],
  eventsLost: [],
  webhooksLost: [],
  duplicates: [],
  unrecorded: [],
  attemptsWrong: [],
  numbersWrong: [],
}

test('does not report a lead whose event arrived once', () => {
  expect(runCompare({})).toEqual({ accepted: 1, ...NO_FINDINGS })
})

test('reports lost leads, events and webhooks', () => {
  const leads = [{ reference: 'other', eventId: 'gone' }]
  expect(runCompare({ over: { leads } })).toMatchObject({
    leadsLost: ['lead'],
    leadsWithoutResponse: ['other'],
    eventsLost: ['other'],
    webhooksLost: ['other'],
  })
  expect(runCompare({ arrivals: [createArrival(0, 503)] })).toMatchObject({ webhooksLost: ['lead'] })
})

test('explains a duplicate by a kill of the process that makes or records attempts, and by no other kill', () => {
  const twice = { arrivals: [createArrival(0), createArrival(6000)] }
  const explain = (hazards: Hazard[]) =>
    runCompare({ ...twice, hazards }).duplicates.map(({ because }) => because)
  expect(explain([])).toEqual([null])
  expect(explain([createKill('gateway', 0)])).toEqual([null])
  expect(explain([createKill('webhook-service', 10_000)])).toEqual([null])
  expect(explain([createKill('webhook-service', -5000)])).toEqual([null])
  expect(explain([createKill('webhook-service', 1)])).toEqual([
    expect.stringContaining('webhook-service was killed'),
  ])
  expect(runCompare({ ...twice, hazards: [createKill('postgres', 1)] }).unrecorded).toHaveLength(1)
})

test('a lost machine explains unrecorded attempts until its connections are found dead', () => {
  const lost: Hazard = { ...createKill('postgres-1', 0), what: 'lost' }
  const explain = (after: number) =>
    runCompare({ arrivals: [createArrival(after), createArrival(after + 9000)], hazards: [lost] })
      .duplicates[0]!.because
  expect(explain(16_000)).toContain('postgres-1 was lost')
  expect(explain(18_000)).toBe(null)
})

test('explains each duplicate by a different attempt that ended without a response', () => {
  const attempts = [createAttempt(1, 0, null), createAttempt(2, 6000)]
  const { duplicates, unrecorded } = runCompare({
    arrivals: [createArrival(0), createArrival(6000)],
    attempts,
  })
  expect(duplicates).toMatchObject([{ because: expect.stringContaining('timeout') }])
  expect(unrecorded).toEqual([])
  const thrice = runCompare({
    arrivals: [createArrival(0), createArrival(1), createArrival(6000)],
    attempts,
  })
  expect(thrice.duplicates.filter(({ because }) => because === null)).toHaveLength(1)
})

test('reports a record that misses an attempt, or has an attempt that was never made', () => {
  expect(runCompare({ attempts: [createAttempt(2, 0)] }).attemptsWrong).toEqual(['1'])
  expect(runCompare({ attempts: [createAttempt(1, 0, 503), createAttempt(2, 1)] }).attemptsWrong).toEqual([
    '1',
  ])
})

test('reports a gap in the numbers of events, and a webhook with the number of another event', () => {
  const gap = {
    events: [
      { id: 'event', number: 1 },
      { id: 'other', number: 3 },
    ],
  }
  expect(runCompare({ over: gap }).numbersWrong).toEqual(['other'])
  const arrivals = [createArrival(0, 503), { ...createArrival(6000), number: 2 }]
  expect(runCompare({ arrivals }).numbersWrong).toEqual(['event'])
})
