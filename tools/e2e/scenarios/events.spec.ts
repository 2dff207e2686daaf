import { eventually } from '@leadwire/test-kit'
import { readEvents } from '../support/events'
import { readMail } from '../support/mail'
import { joinStage, type SharedStage, type Tenant } from '../support/stage'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

/**
 * Waits until the log has `count` events. Call this function after each change, because events that are
 * published at the same time may be stored in another order.
 */
const awaitEvents = (count: number, of = tenant) =>
  eventually(async () => {
    const page = await readEvents(of)
    expect(page.data).toHaveLength(count)
    return page
  })

const update = (reference: string, status: string) =>
  tenant.send('PATCH', `/leads/${reference}`, { json: { status } })

const erase = (reference: string) => tenant.send('POST', `/manage/leads/${reference}/erase`)

test('the log has the content of all webhooks in order, and its cursor leads to new events', async () => {
  const { receiver } = await tenant.listen()
  const lead = await tenant.createLead()
  const { data, next_cursor: cursor } = await awaitEvents(1)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const [webhook] = receiver.requests
  expect(data).toEqual([
    {
      id: webhook!.headers['webhook-id'],
      sequence: 1,
      type: 'lead.created',
      lead_reference: lead.reference,
      lead_version: 1,
      test: false,
      created_at: expect.stringMatching(/\.\d{6}Z$/),
      erased: false,
      body: JSON.parse(webhook!.body.toString()),
    },
  ])

  expect(await readEvents(tenant, `?after=${cursor}`)).toMatchObject({ data: [] })
  await update(lead.reference, 'sold')
  await awaitEvents(2)
  await tenant.createLead()
  await awaitEvents(3)
  const read = async (query: string) =>
    (await readEvents(tenant, query)).data.map(({ sequence, type }) => `${sequence} ${type}`)
  const later = ['2 lead.updated', '3 lead.created']
  expect(await read(`?after=${cursor}`)).toEqual(later)
  expect(await read('?from_sequence=2')).toEqual(later)
  expect(await read('?types=lead.created')).toEqual(['1 lead.created', '3 lead.created'])
  expect(await read('?after=now')).toEqual([])

  const walked: number[] = []
  let after = ''
  while (walked.length < 3) {
    const page = await readEvents(tenant, `?limit=1${after}`)
    walked.push(...page.data.map(({ sequence }) => sequence))
    after = `&after=${page.next_cursor}`
  }
  expect(walked).toEqual([1, 2, 3])
})

test('a waiting reader gets a new event of its types, and 401 if its token is revoked', async () => {
  const { reference } = await tenant.createLead()
  const { next_cursor: cursor } = await awaitEvents(1)
  const waiting = readEvents(tenant, `?after=${cursor}&wait=30&types=attachment.added`)
  const { id, token } = await tenant.newToken({ scopes: ['events:read'] })
  const revoked = tenant.client.request('GET', `/manage/events?after=${cursor}&wait=30&types=lead.erased`, {
    token,
  })
  await update(reference, 'sold')
  await awaitEvents(2)
  await tenant.send('POST', `/leads/${reference}/attachments`, {
    multipart: [
      { name: 'name', value: 'Notes' },
      { name: 'file', value: 'Ring twice.', fileName: 'notes.txt' },
    ],
  })
  expect((await waiting).data).toMatchObject([{ sequence: 3, type: 'attachment.added' }])
  await tenant.send('DELETE', `/manage/tokens/${id}`)
  expect((await revoked).status).toBe(401)
})

test('an unknown cursor or sequence gets 410 with the cursor to begin with', async () => {
  const other = await stage.newTenant()
  await Promise.all([tenant.createLead(), other.createLead()])
  await awaitEvents(1)
  const { next_cursor: foreign } = await awaitEvents(1, other)
  for (const query of [`?after=${foreign}`, '?from_sequence=9']) {
    const gone = await tenant.client.request<{ oldest_cursor: string }>('GET', `/manage/events${query}`)
    expect(gone).toMatchObject({ status: 410, json: { type: '/problems#gone' } })
    const { data } = await readEvents(tenant, `?after=${gone.json.oldest_cursor}`)
    expect(data.map(({ sequence }) => sequence)).toEqual([1])
  }
})

test('an erasure is the last event of its lead and empties the earlier ones, and its receipt shows the confirmations', async () => {
  const events = ['lead.created', 'lead.erased']
  const confirming = await tenant.listen({ events })
  const disabled = await tenant.listen({ events: ['lead.erased'], enabled: false })
  const { reference } = await tenant.createLead()
  await awaitEvents(1)
  await update(reference, 'sold')
  await awaitEvents(2)
  await eventually(() => expect(confirming.receiver.requests).toHaveLength(1))
  await erase(reference)

  const body = { type: 'lead.erased', data: { reference } }
  await eventually(async () => {
    expect((await readEvents(tenant)).data).toMatchObject([
      { sequence: 1, type: 'lead.created', erased: true, body: null },
      { sequence: 2, type: 'lead.updated', erased: true, body: null },
      { sequence: 3, type: 'lead.erased', erased: false, lead_version: 3, body },
    ])
  })
  await eventually(async () => {
    expect(await tenant.send('GET', `/manage/leads/${reference}/erasure`)).toMatchObject({
      status: 'done',
      receivers: [
        { endpoint_id: confirming.id, status: 'delivered', delivered_at: expect.stringMatching(/Z$/) },
        { endpoint_id: disabled.id, status: 'held', delivered_at: null },
      ],
    })
  })
  const [created, erased] = confirming.receiver.requests
  expect(JSON.parse(erased!.body.toString())).toEqual(body)
  expect(erased!.headers).toMatchObject({ 'webhook-sequence': '3', 'webhook-lead-version': '3' })

  // Erased events are never sent again. The event `lead.erased` may be sent again.
  const deliveries = await tenant.client.request<{ data: { id: number; event_id: string }[] }>(
    'GET',
    `/manage/deliveries?endpoint_id=${confirming.id}`,
  )
  const retry = async (eventId: unknown) => {
    const { id } = deliveries.json.data.find(({ event_id }) => event_id === eventId)!
    return (await tenant.client.request('POST', `/manage/deliveries/${id}/retry`)).status
  }
  expect(await retry(created!.headers['webhook-id'])).toBe(409)
  expect(await retry(erased!.headers['webhook-id'])).toBe(200)
})

test('an appointment that is due is an event, and a reminder for its user', async () => {
  const { receiver } = await tenant.listen({ events: ['appointment.due'] })
  const user = { email: 'sam@example.com', name: 'Sam Bay' }
  const { id: user_id } = await tenant.send('POST', '/manage/users', { json: user })
  await tenant.send('PATCH', '/manage/account', { json: { appointment_due_minutes: 30 } })
  // The appointments are due at the start of the next minute that is not too close.
  const dueAt = Math.ceil((Date.now() + 5000) / 60_000) * 60_000
  const format = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'short',
    timeStyle: 'short',
    timeZone: 'Europe/London',
  })
  const date = format.format(dueAt + 30 * 60_000).replace(',', '')
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}/appointments`
  const json = { user_id, notify: false, remind: true, date }
  const due = await tenant.send('POST', path, { json })
  const done = await tenant.send('POST', path, { json })
  await tenant.send('PATCH', `${path}/${done.id}`, { json: { done: true } })

  await eventually(() => expect(receiver.requests).toHaveLength(1), { timeoutMs: 90_000 })
  expect(Date.now()).toBeGreaterThanOrEqual(dueAt)
  const [request] = receiver.requests
  const [, open] = await tenant.send<object[]>('GET', path)
  expect(JSON.parse(request!.body.toString())).toEqual({ type: 'appointment.due', data: open })
  expect(open).toEqual({ ...due, cancelled_at: null, done_at: null, remind: true })
  await tenant.send('DELETE', `${path}/${due.id}`)
  const [reminder] = await eventually(async () => {
    const sent = await tenant.send<{ subject: string; status: string; event_id: string }[]>(
      'GET',
      `/manage/notifications?lead_reference=${reference}`,
    )
    expect(sent).toMatchObject([{ subject: 'appointment.due', status: 'delivered' }])
    return sent
  })
  const mail = await readMail(stage.system, reminder!.event_id)
  expect([mail.subject, mail.attachments]).toEqual(['Reminder of an appointment: Bay window', []])
})

test('a user gets an e-mail about an assignment, an appointment and a callback on request', async () => {
  const { id: user_id } = await tenant.send('POST', '/manage/users', {
    json: { email: 'sam@example.com', name: 'Sam Bay' },
  })
  const { reference } = await tenant.createLead()
  const entry = { user_id, notify: true, date: '24/12/2027 14:30' }
  const appointment = await tenant.send('POST', `/leads/${reference}/appointments`, { json: entry })
  await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry })
  await tenant.send('POST', `/leads/${reference}/callbacks`, { json: { ...entry, notify: false } })
  await tenant.send('PATCH', `/leads/${reference}`, {
    json: { user_email: 'SAM@example.com', notify: true, status: 'sold' },
  })
  const awaitMails = (subjects: string[]) =>
    eventually(async () => {
      const { json } = await tenant.client.request<{
        data: { id: number; event_id: string; subject: string; status: string }[]
      }>('GET', `/manage/notifications?lead_reference=${reference}&status=delivered`)
      expect(json.data.map(({ subject }) => subject).toSorted()).toEqual(subjects)
      return json.data
    })
  // Waits for the invitation first, because rescheduling would replace an invitation that is not sent yet.
  await awaitMails(['appointment', 'assigned', 'callback'])
  await tenant.send('PATCH', `/leads/${reference}/appointments/${appointment.id}`, {
    json: { notify: true, date: '25/12/2027 09:00' },
  })
  const notifications = await awaitMails(['appointment', 'appointment.rescheduled', 'assigned', 'callback'])

  const mailAbout = async (subject: string) => {
    const { event_id } = notifications.find((each) => each.subject === subject)!
    const mail = await readMail(stage.system, event_id)
    expect(mail.headers.get('to')).toMatchObject({ value: [{ address: 'sam@example.com', name: 'Sam Bay' }] })
    return mail
  }
  const invitationTo = async (subject: string) => {
    const [invitation] = (await mailAbout(subject)).attachments
    expect(invitation!.contentType).toBe('text/calendar')
    return invitation!.content.toString().split('\r\n')
  }
  const invited = await invitationTo('appointment')
  expect(invited).toEqual(expect.arrayContaining(['METHOD:REQUEST', 'DTSTART:20271224T143000Z']))
  const uid = invited.find((line) => line.startsWith('UID:'))
  expect(await invitationTo('appointment.rescheduled')).toEqual(
    expect.arrayContaining([uid, 'METHOD:REQUEST', 'DTSTART:20271225T090000Z']),
  )
  const called = await invitationTo('callback')
  expect(called).toContain('DTSTART:20271224T143000Z')
  expect(called).not.toContain(uid)
  const assigned = await mailAbout('assigned')
  expect(assigned.attachments).toEqual([])
  expect(assigned.text).toContain('sold')

  const { id } = notifications.find(({ subject }) => subject === 'assigned')!
  await tenant.send('POST', `/manage/notifications/${id}/retry`)
  await eventually(async () =>
    expect(await tenant.send('GET', `/manage/notifications/${id}`)).toMatchObject({
      user_id,
      user_email: 'sam@example.com',
      status: 'delivered',
      date: null,
      attempts: [
        { number: 1, status: 250, error: null },
        { number: 2, status: 250, error: null },
      ],
    }),
  )
})
