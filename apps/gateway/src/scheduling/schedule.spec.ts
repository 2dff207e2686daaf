import type {
  Appointment,
  EntryChange,
  ListAppointmentsRequest,
  ListScheduleRequest,
} from '@leadwire/contracts'
import { encodeCursor } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const MISSING = '00000000-0000-4000-8000-000000000000'

let gateway: RunningGateway
let asked: Appointment[]
let changes: EntryChange[]
let lists: ListScheduleRequest[]

/** Lists the two entries of each lead, except for the missing lead. */
const listEntries = async ({ reference, before = Number.POSITIVE_INFINITY }: ListAppointmentsRequest) => {
  if (reference === MISSING) throw new ServiceError('not_found', 'There is no such lead.')
  const entries = [{ id: 8 }, { id: 6 }].filter(({ id }) => id < before)
  return { items: Buffer.from(JSON.stringify(entries)), nextBefore: undefined }
}

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      scheduleAppointment: async ({ appointment }) => {
        asked.push(appointment!)
        return { body: Buffer.from('{"data":"appointment"}') }
      },
      scheduleCallback: async ({ callback }) => {
        asked.push(callback!)
        return { body: Buffer.from('{"data":"callback"}') }
      },
      rescheduleAppointment: async ({ change }) => {
        changes.push(change!)
        return { body: Buffer.from('{"data":"appointment"}') }
      },
      listSchedule: async (request) => {
        lists.push(request)
        const nextAfter = { date: '2026-03-28T09:30:00.000001Z', kind: 'callback', id: 7 }
        return { items: Buffer.from('[]'), nextAfter: request.after ? undefined : nextAfter }
      },
      retrieveLeads: retrieveAllBut(MISSING),
      listAppointments: listEntries,
      listCallbacks: listEntries,
    },
  })
})
beforeEach(() => {
  asked = []
  changes = []
  lists = []
})
afterAll(() => gateway.stop())

const post = (change: object, reference = REFERENCE, what = 'appointments') =>
  gateway.send({
    method: 'POST',
    url: `/leads/${reference}/${what}`,
    payload: { notify: true, user_id: 5, date: '24/12/2026 14:30', ...change },
  })

test.each(['appointments', 'callbacks'])('%s are passed on', async (what) => {
  const response = await post({ notify: '0', user_id: '5' }, REFERENCE.toUpperCase(), what)
  expect(response.body).toBe(`{"data":"${what.slice(0, -1)}"}`)
  const entry = { accountId: 3, reference: REFERENCE, userId: 5, notify: false, date: '2026-12-24T14:30:00Z' }
  expect(asked).toEqual([{ ...entry, remind: false }])
  await post({ notify: '0', remind: '1' }, REFERENCE, what)
  expect(asked[1]).toEqual({ ...entry, remind: true })
})

test.each([
  ['winter', '01/12/2026 09:05', '2026-12-01T09:05:00Z'],
  ['summer', '01/07/2026 09:05', '2026-07-01T08:05:00Z'],
  ['the last minute before the spring gap', '29/03/2026 00:59', '2026-03-29T00:59:00Z'],
  ['the first minute after the spring gap', '29/03/2026 02:00', '2026-03-29T01:00:00Z'],
  ['the earlier of two in the autumn overlap', '25/10/2026 01:30', '2026-10-25T00:30:00Z'],
  ['a leap day', '29/02/2028 12:00', '2028-02-29T12:00:00Z'],
  ['the past', '01/01/1999 00:00', '1999-01-01T00:00:00Z'],
  ['the first minute', '01/01/1900 00:00', '1900-01-01T00:00:00Z'],
  ['the last minute', '31/12/2199 23:59', '2199-12-31T23:59:00Z'],
])('%s', async (_name, date, instant) => {
  expect((await post({ date })).statusCode).toBe(200)
  expect(asked[0]!.date).toBe(instant)
})

test.each([
  '29/03/2026 01:30',
  '29/02/2026 12:00',
  '31/04/2026 12:00',
  '00/01/2026 12:00',
  '01/13/2026 12:00',
  '01/01/2026 24:00',
  '01/01/2026 12:60',
  '1/1/2026 9:00',
  '2026-01-01 09:00',
  '01/01/2026 09:00:00',
  '01/01/2026T09:00',
  '01/01/0000 09:00',
  '24/12/0026 09:00',
  '31/12/1899 23:59',
  '01/01/2200 00:00',
  '24/12/2926 09:00',
  '31/12/9999 23:59',
  '٠١/01/2026 09:00',
  'tomorrow',
])('%s is no date', async (date) => {
  const response = await post({ date })
  expect(response.statusCode).toBe(422)
  expect(response.json().errors).toEqual({
    date: [
      'The date is not a valid date and time. Use the format dd/mm/yyyy hh:mm, with a year from 1900 to 2199. The date must exist, and the time must not be in the hour that is skipped when the clocks go forward.',
    ],
  })
})

test('every error of a field at once', async () => {
  const response = await post({ notify: 'yes', user_id: 404, date: null })
  expect(response.json().errors).toEqual({
    notify: ['The notify field must be true or false.'],
    date: ['The date field is required.'],
  })
})

test.each(['TRUE', 'yes', 'on', '2', 2])('notify %j is refused', async (notify) => {
  expect((await post({ notify })).json().errors).toEqual({
    notify: ['The notify field must be true or false.'],
  })
})

test('a missing lead is a 404 before any error; a malformed reference too', async () => {
  expect((await post({ date: 'x' }, MISSING)).statusCode).toBe(404)
  expect((await post({ date: 'x' }, 'not-a-uuid')).statusCode).toBe(404)
  expect((await post({}, 'x'.repeat(5000))).statusCode).toBe(404)
})

describe.each(['appointments', 'callbacks'])('a change of %s with invalid fields', (what) => {
  const change = (id: number, reference: string, method: 'PATCH' | 'DELETE') =>
    gateway.send({
      method,
      url: `/leads/${reference}/${what}/${id}${method === 'DELETE' ? '?notify=x' : ''}`,
      ...(method === 'PATCH' && { payload: { user_id: 'x', notify: 2 } }),
    })

  test('is a 422 with every error when the lead has the entry', async () => {
    const changed = await change(8, REFERENCE, 'PATCH')
    expect([changed.statusCode, Object.keys(changed.json().errors)]).toEqual([422, ['user_id', 'notify']])
    expect((await change(8, REFERENCE, 'DELETE')).statusCode).toBe(422)
  })

  test('is a 404 for an unknown lead or entry', async () => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      expect((await change(8, MISSING, method)).statusCode).toBe(404)
      for (const id of [7, 9, Number.MAX_SAFE_INTEGER])
        expect((await change(id, REFERENCE, method)).statusCode).toBe(404)
    }
  })
})

test.each([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['1', true],
  ['0', false],
  ['true', true],
  [' false ', false],
])('notify %j is %j', async (notify, meant) => {
  await post({ notify })
  expect(asked[0]!.notify).toBe(meant)
})

test.each([
  [{ done: true }, { done: true }],
  [{ done: '0' }, { done: false }],
  [{ remind: true }, { remind: true }],
  [{ user_id: 5 }, { userId: 5 }],
])('the change %j of an appointment is passed on', async (payload, change) => {
  await gateway.send({ method: 'PATCH', url: `/leads/${REFERENCE}/appointments/8`, payload })
  expect(changes).toEqual([{ accountId: 3, reference: REFERENCE, id: 8, notify: false, ...change }])
})

const listSchedule = (query = '') => gateway.send({ url: `/manage/schedule${query}` })

test('the schedule has the open entries by default, and a cursor that continues it', async () => {
  const { data, next_cursor: cursor } = (await listSchedule()).json()
  expect(data).toEqual([])
  expect((await listSchedule(`?cursor=${cursor}`)).json()).toEqual({ data: [], next_cursor: null })
  const first = { accountId: 3, state: 'open', after: undefined }
  const after = { date: '2026-03-28T09:30:00.000001Z', kind: 'callback', id: 7 }
  expect(lists).toEqual([first, { ...first, after }])
})

test('the filters of the schedule are passed on', async () => {
  const times = 'from=2026-03-28T10:30:00%2B01:00&to=2026-03-29T00:00:00Z'
  await listSchedule(`?${times}&user_id=5&kind=callback&state=all`)
  expect(lists).toEqual([
    {
      accountId: 3,
      from: '2026-03-28T09:30:00Z',
      to: '2026-03-29T00:00:00Z',
      userId: 5,
      kind: 'callback',
      state: 'all',
      after: undefined,
    },
  ])
})

test.each([
  ['from', '2026-03-28'],
  ['to', 'tomorrow'],
  ['user_id', '0'],
  ['kind', 'callbacks'],
  ['state', 'cancelled'],
  ['cursor', 'x'],
  ['cursor', encodeCursor(7)],
  ['cursor', encodeCursor('2026-02-31T09:30:00.000001Z_callback_7')],
  ['status', 'open'],
])('the schedule refuses %s=%s', async (name, value) => {
  const response = await listSchedule(`?${name}=${value}`)
  expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, [name]])
  expect(lists).toEqual([])
})
