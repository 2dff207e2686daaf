import { compare } from './compare'
import type { Hazard } from './hazards'
import type { Arrival } from './receiver'
import type { RecordedAttempt, Records } from './records'

const at = Date.parse('2026-11-21T09:30:00Z')

const arrival = (after: number, status = 200): Arrival => ({
  ...{ id: 'event', number: 1, at: at + after, answeredAt: at + after + 2, status },
})
const attempt = (number: number, after: number, status: number | null = 200): RecordedAttempt => ({
  ...{ deliveryId: '1', eventId: 'event', number, from: at + after - 1, until: at + after + 5, status },
  error: status === null ? 'timeout' : null,
})
const kill = (process: string, after: number): Hazard => ({
  ...{ what: 'killed', process, from: at + after, until: at + after + 1000 },
})

const compared = ({
  arrivals = [arrival(0)],
  attempts = [attempt(1, 0)],
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
    arrivalsOf: (id) => (id === 'event' ? arrivals : []),
    hazards,
  })

const NOTHING = {
  ...{ leadsLost: [], leadsTwice: [], eventsLost: [], webhooksLost: [] },
  ...{ duplicates: [], unrecorded: [], attemptsWrong: [], numbersWrong: [] },
}

test('a lead whose event came once is not reported', () => {
  expect(compared({})).toEqual({ accepted: 1, ...NOTHING })
})

test('what is lost is named', () => {
  const leads = [{ reference: 'other', eventId: 'gone' }]
  expect(compared({ over: { leads } })).toMatchObject({
    ...{ leadsLost: ['lead'], leadsTwice: ['other'], eventsLost: ['other'], webhooksLost: ['other'] },
  })
  expect(compared({ arrivals: [arrival(0, 503)] })).toMatchObject({ webhooksLost: ['lead'] })
})

test('a duplicate is explained by a kill of who attempts or records, and by nothing else', () => {
  const twice = { arrivals: [arrival(0), arrival(6000)] }
  const because = (hazards: Hazard[]) => compared({ ...twice, hazards }).duplicates.map((one) => one.because)
  expect(because([])).toEqual([null])
  expect(because([kill('gateway', 0)])).toEqual([null])
  expect(because([kill('webhook-service', 10_000)])).toEqual([null])
  expect(because([kill('webhook-service', -5000)])).toEqual([null])
  expect(because([kill('webhook-service', 1)])).toEqual([
    expect.stringContaining('webhook-service was killed'),
  ])
  expect(compared({ ...twice, hazards: [kill('postgres', 1)] }).unrecorded).toHaveLength(1)
})

test('a lost machine explains what is not recorded until its connections are found dead', () => {
  const lost: Hazard = { ...kill('postgres-1', 0), what: 'lost' }
  const because = (after: number) =>
    compared({ arrivals: [arrival(after), arrival(after + 9000)], hazards: [lost] }).duplicates[0]!.because
  expect(because(16_000)).toContain('postgres-1 was lost')
  expect(because(18_000)).toBe(null)
})

test('a duplicate is explained by an attempt that ended without an answer, each by one of its own', () => {
  const attempts = [attempt(1, 0, null), attempt(2, 6000)]
  const { duplicates, unrecorded } = compared({ arrivals: [arrival(0), arrival(6000)], attempts })
  expect(duplicates).toMatchObject([{ because: expect.stringContaining('timeout') }])
  expect(unrecorded).toEqual([])
  const thrice = compared({ arrivals: [arrival(0), arrival(1), arrival(6000)], attempts })
  expect(thrice.duplicates.filter(({ because }) => because === null)).toHaveLength(1)
})

test('a record with an attempt too many, or one that was never made, is wrong', () => {
  expect(compared({ attempts: [attempt(2, 0)] }).attemptsWrong).toEqual(['1'])
  expect(compared({ attempts: [attempt(1, 0, 503), attempt(2, 1)] }).attemptsWrong).toEqual(['1'])
})

test('a gap in the numbers, and a webhook with another number, are wrong', () => {
  const gap = {
    events: [
      { id: 'event', number: 1 },
      { id: 'other', number: 3 },
    ],
  }
  expect(compared({ over: gap }).numbersWrong).toEqual(['other'])
  const arrivals = [arrival(0, 503), { ...arrival(6000), number: 2 }]
  expect(compared({ arrivals }).numbersWrong).toEqual(['event'])
})
