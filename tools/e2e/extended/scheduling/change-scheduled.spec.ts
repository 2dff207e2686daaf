import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../../support/client'
import { readMail } from '../../support/mail'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'
import { type CalendarFacts, calendarFacts } from './calendar.fixture'

interface Entry {
  id: number
  user_id: number
  date: string
  notify: boolean
  cancelled_at: string | null
  done_at: string | null
  remind: boolean
}

interface Message extends CalendarFacts {
  to: string
  title: string
}

let stage: SharedStage
let tenant: Tenant
let [sam, kim] = [0, 0]
const SAM = 'sam@example.com'
const KIM = 'kim@example.com'
beforeAll(async () => {
  stage = await joinStage()
})
// Creates new users for each test, because the number of messages to a user in an hour is limited.
beforeEach(async () => {
  tenant = await stage.newTenant()
  const newUser = async (email: string) =>
    (await tenant.send('POST', '/manage/users', { json: { email, name: email.split('@')[0] } })).id
  ;[sam, kim] = [await newUser(SAM), await newUser(KIM)]
})
afterAll(() => stage.stop())

const DATE = '24/12/2026 14:30'
const LATER = '25/12/2026 09:00'
const START = '2026-12-24T14:30:00.000Z'
const LATER_START = '2026-12-25T09:00:00.000Z'
const shown = (start: string) => start.replace('Z', '000Z')

const scheduled = async (what: string, change: object = {}) => {
  const { reference } = await tenant.createLead()
  const json = { user_id: sam, notify: true, date: DATE, ...change }
  const list = `/leads/${reference}/${what}`
  const entry = await tenant.send<Entry>('POST', list, { json })
  // Waits until the invitation is sent, because a change would cancel an invitation that is not sent yet.
  if (json.notify) await messages(reference, 1)
  return { reference, entry, list, path: `${list}/${entry.id}` }
}

const OPEN = { cancelled_at: null, done_at: null, remind: false }

const patch = (path: string, json: object) => tenant.send<Entry>('PATCH', path, { json })
const status = async (method: string, path: string, options?: RequestOptions) =>
  (await tenant.client.request(method, path, options)).status

const readMessage = async (eventId: string): Promise<Message> => {
  const mail = await readMail(stage.system, eventId)
  const invitation = mail.attachments.find(({ contentType }) => contentType === 'text/calendar')!
  const [facts] = calendarFacts(invitation.content.toString())
  expect(invitation.headers.get('content-type')).toMatchObject({ params: { method: facts!.method } })
  const [to] = [mail.to!].flat()
  return { ...facts!, to: to!.text.replace(/.*<|>/g, ''), title: mail.subject! }
}

/**
 * Waits until a lead has `count` messages, all of them sent or cancelled. Returns the sent messages, sorted
 * by sequence and then by recipient.
 */
const messages = async (reference: string, count: number): Promise<Message[]> => {
  const found = await eventually(async () => {
    const path = `/manage/notifications?lead_reference=${reference}`
    const { json } = await tenant.client.request<{ data: { event_id: string; status: string }[] }>(
      'GET',
      path,
    )
    expect(json.data).toHaveLength(count)
    for (const each of json.data) expect(each.status).toMatch(/^(delivered|cancelled)$/)
    return json.data.filter((each) => each.status === 'delivered')
  })
  const sent = await Promise.all(found.map(({ event_id }) => readMessage(event_id)))
  return sent.toSorted((one, other) => one.sequence - other.sequence || (one.to < other.to ? -1 : 1))
}

const listEvents = async (reference: string) => {
  const { json } = await tenant.client.request<{
    data: { type: string; lead_reference: string; lead_version: number; body: { data: Entry } }[]
  }>('GET', '/manage/events?limit=100&types=appointment.rescheduled,appointment.cancelled')
  return json.data.filter(({ lead_reference }) => lead_reference === reference)
}

const readHistory = (reference: string) =>
  tenant.send<{ version: number; changes: object[]; token: object }[]>(
    'GET',
    `/manage/leads/${reference}/history`,
  )

describe.each([
  ['appointments', 60, 'Appointment'],
  ['callbacks', 15, 'Callback'],
])('%s', (what, minutes, title) => {
  test('a move keeps the invitation with a higher sequence, and responds with the record', async () => {
    const { reference, entry, list, path } = await scheduled(what)
    const lead = await tenant.client.request('GET', `/leads/${reference}`)
    const moved = await patch(path, { date: LATER, notify: true })
    expect(Object.entries(moved)).toEqual(Object.entries({ ...entry, date: shown(LATER_START), ...OPEN }))
    expect(await tenant.send('GET', list)).toEqual([moved])
    const [first, second] = await messages(reference, 2)
    const common = { minutes, to: SAM, attendee: SAM, method: 'REQUEST', status: null }
    const summary = `${title}: Bay window`
    expect(first).toEqual({
      ...common,
      uid: expect.any(String),
      sequence: 0,
      start: START,
      summary,
      title: summary,
    })
    expect(second).toEqual({
      ...common,
      uid: first!.uid,
      sequence: 1,
      start: LATER_START,
      summary,
      title: `${title} moved: Bay window`,
    })
    const [change] = await readHistory(reference)
    const kind = what.slice(0, -1)
    const from = { id: entry.id, user_id: sam, date: shown(START) }
    expect(change).toMatchObject({
      version: 2,
      action: 'updated',
      token: { name: 'first' },
      changes: [{ field: kind, from, to: { ...from, date: shown(LATER_START) } }],
    })
    const after = await tenant.client.request('GET', `/leads/${reference}`)
    expect(after.json).toEqual(lead.json)
    expect(after.headers['etag']).not.toBe(lead.headers['etag'])
  })

  test('another user is invited, and the old user gets a cancellation', async () => {
    const { reference, path } = await scheduled(what)
    const moved = await patch(path, { user_id: kim, date: LATER, notify: true })
    expect(moved).toMatchObject({ user_id: kim, date: shown(LATER_START) })
    const [first, ...others] = await messages(reference, 3)
    const { uid } = first!
    expect(others).toMatchObject([
      { to: KIM, uid, sequence: 1, method: 'REQUEST', start: LATER_START, title: `${title}: Bay window` },
      { to: SAM, uid, sequence: 1, method: 'CANCEL', start: START, title: `${title} cancelled: Bay window` },
    ])
  })

  test('a cancelled entry is withdrawn, stays in the list and cannot be moved', async () => {
    const { reference, list, path } = await scheduled(what)
    const cancelled = await tenant.send<Entry>('DELETE', `${path}?notify=1`)
    expect(cancelled).toMatchObject({ date: shown(START), cancelled_at: expect.stringMatching(/\.\d{6}Z$/) })
    expect(await tenant.send('GET', list)).toEqual([cancelled])
    expect(await tenant.send('DELETE', `${path}?notify=1`)).toEqual(cancelled)
    for (const json of [{ date: LATER }, {}, { notify: true }]) {
      const refused = await tenant.client.request('PATCH', path, { json })
      expect([refused.status, refused.json]).toMatchObject([422, { errors: { id: [expect.any(String)] } }])
    }
    const [, second] = await messages(reference, 2)
    expect(second).toMatchObject({
      to: SAM,
      sequence: 1,
      method: 'CANCEL',
      status: 'CANCELLED',
      start: START,
    })
    expect(await readHistory(reference)).toMatchObject([{ changes: [{ to: null }] }, {}])
    const exported = await tenant.send<Record<string, unknown>>('GET', `/manage/leads/${reference}/export`)
    expect(exported[what]).toEqual([cancelled])
  })

  test('a cancellation goes to the user who has the invitation, even if another user is assigned', async () => {
    const { reference, path } = await scheduled(what)
    await patch(path, { user_id: kim })
    await tenant.send('DELETE', `${path}?notify=true`)
    const [, second] = await messages(reference, 2)
    expect(second).toMatchObject({ to: SAM, sequence: 2, method: 'CANCEL' })
  })

  test('an update without changes does nothing, but sends the invitation again with notify', async () => {
    const { reference, entry, path } = await scheduled(what)
    for (const json of [{}, { date: DATE, user_id: sam }, { notify: false }])
      expect(await patch(path, json)).toEqual({ ...entry, ...OPEN })
    expect(await readHistory(reference)).toHaveLength(1)
    await patch(path, { notify: true })
    const [first, second] = await messages(reference, 2)
    expect(second).toEqual(first)
    expect(await readHistory(reference)).toHaveLength(1)
  })

  test('the first update with notify sends the invitation of an entry that was created without', async () => {
    const { reference, path } = await scheduled(what, { notify: false })
    expect(await patch(path, { date: LATER })).toMatchObject({ notify: false })
    expect(await patch(path, { notify: true })).toMatchObject({ notify: true })
    expect(await messages(reference, 1)).toMatchObject([
      { sequence: 1, method: 'REQUEST', start: LATER_START },
    ])
  })

  test('concurrent moves happen one after the other', async () => {
    const { reference, path } = await scheduled(what)
    const days = Array.from({ length: 15 }, (_, index) => index + 1)
    await Promise.all(
      days.map((day) => patch(path, { date: `${String(day).padStart(2, '0')}/01/2027 10:00`, notify: true })),
    )
    const sent = await messages(reference, 16)
    const sequences = sent.map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)])
    const last = sent.at(-1)!
    expect(last.sequence).toBe(15)
    const [now] = await tenant.send<Entry[]>('GET', `/leads/${reference}/${what}`)
    expect(shown(last.start)).toBe(now!.date)
    expect((await readHistory(reference)).map(({ version }) => version)).toEqual([...days, 16].toReversed())
  })

  test('an update accepts past dates, and refuses the same values as a create, all at once', async () => {
    const { path } = await scheduled(what, { notify: false })
    expect(await patch(path, { date: '01/07/1999 10:00' })).toMatchObject({
      date: '1999-07-01T09:00:00.000000Z',
    })
    const other = await stage.newTenant()
    const foreign = await other.send('POST', '/manage/users', { json: { email: 'o@example.com', name: 'O' } })
    const json = { date: '29/03/2026 01:30', user_id: foreign.id, notify: 'yes' }
    const refused = await tenant.client.request<{ errors: object }>('PATCH', path, { json })
    expect([refused.status, Object.keys(refused.json.errors).sort()]).toEqual([422, ['date', 'notify']])
    const alone = await tenant.client.request('PATCH', path, { json: { user_id: foreign.id } })
    expect([alone.status, alone.json]).toMatchObject([422, { errors: { user_id: [expect.any(String)] } }])
    expect(await status('DELETE', `${path}?notify=2`)).toBe(422)
    expect(await status('DELETE', `${path}?Notify=1`)).toBe(422)
  })

  test('an unknown entry, or one of another lead or account, gets 404 before any other error', async () => {
    const { list, path, entry } = await scheduled(what, { notify: false })
    const [sibling, other] = [await tenant.createLead(), await stage.newTenant()]
    for (const json of [{ date: 'x' }, { date: LATER }])
      for (const missing of [
        `${list}/999999999`,
        `${list}/0`,
        `${list}/x`,
        `/leads/${sibling.reference}/${what}/${entry.id}`,
      ])
        expect([missing, await status('PATCH', missing, { json })]).toEqual([missing, 404])
    expect(await status('DELETE', `/leads/${sibling.reference}/${what}/${entry.id}?x=1`)).toBe(404)
    for (const method of ['PATCH', 'DELETE'])
      expect((await other.client.request(method, path, { json: {} })).status).toBe(404)
    const { token } = await tenant.newToken({ scopes: ['leads:read'] })
    for (const method of ['PATCH', 'DELETE'])
      expect(await status(method, path, { token, json: {} })).toBe(403)
    expect(await tenant.send('GET', list)).toEqual([{ ...entry, ...OPEN }])
  })
})

test('changes are in the event log with the versions of the lead', async () => {
  const { receiver } = await tenant.listen({ events: ['appointment.rescheduled', 'appointment.cancelled'] })
  const { reference, path } = await scheduled('appointments', { notify: false })
  const moved = await patch(path, { user_id: kim })
  const cancelled = await tenant.send<Entry>('DELETE', path)
  await eventually(async () =>
    expect(await listEvents(reference)).toMatchObject([
      { type: 'appointment.rescheduled', lead_version: 2, body: { data: moved } },
      { type: 'appointment.cancelled', lead_version: 3, body: { data: cancelled } },
    ]),
  )
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  const sent = receiver.requests.map(({ body, headers }) => [
    headers['webhook-lead-version'],
    JSON.parse(body.toString()),
  ])
  expect(sent.toSorted()).toEqual([
    ['2', { type: 'appointment.rescheduled', data: moved }],
    ['3', { type: 'appointment.cancelled', data: cancelled }],
  ])
})
