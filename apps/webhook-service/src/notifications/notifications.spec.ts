import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEADS_STREAM, NOTIFICATION_CONSUMER, NotificationRequested } from '@leadwire/contracts'
import { eventually, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import ICAL from 'ical.js'
import { keptText } from '../attempt/post'
import type { Config } from '../config'
import { openDoors, startService } from '../service.fixture'
import { composeMessage } from './compose-message'
import { type MailServer, reply, startMailServer } from './mail-server.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
const servers: MailServer[] = []

beforeEach(async () => {
  doors = await openDoors()
})
afterEach(async () => {
  await service.stop()
  await Promise.all(servers.splice(0).map((server) => server.stop()))
  await doors.close()
})

const start = async (
  settings: Parameters<typeof startMailServer>[0] = {},
  config: Partial<Config> = {},
): Promise<MailServer> => {
  const server = await startMailServer(settings)
  servers.push(server)
  service = await startService(doors, { SMTP_URL: server.target, ...config })
  return server
}

const notification = (change: object = {}) =>
  NotificationRequested.fromPartial({
    eventId: randomUUID(),
    accountId: 1,
    accountName: 'Bay & Sons',
    subject: 'appointment',
    userId: 5,
    userEmail: 'sam@example.com',
    userName: 'Zoë "Z" Ångström',
    leadReference: randomUUID(),
    leadName: 'Fenster <b>groß</b> & klein',
    leadStatus: 'open',
    customerName: 'Ada Lovelace',
    customerEmail: 'ada@example.com',
    customerPhone: '020 7946 0123',
    customerPostcode: 'SW1A 1AA',
    date: '2026-06-24T13:30:00.000000Z',
    entryId: 9,
    requestedAt: '2026-06-01T08:00:00.123456Z',
    ...change,
  })

const publish = async (...events: NotificationRequested[]) => {
  const stream = jetstream(doors.connection)
  for (const event of events)
    await eventually(() =>
      stream.publish(
        LEADS_STREAM.subjects.notificationRequested,
        NotificationRequested.encode(event).finish(),
      ),
    )
}

const list = async (accountId = 1) =>
  (await service.client.listNotifications({ accountId, page: 1 })).notifications

const ended = (count = 1) =>
  eventually(async () => {
    const found = await list()
    expect(found).toHaveLength(count)
    for (const { delivery } of found) expect(['delivered', 'exhausted']).toContain(delivery!.status)
    return found
  })

const retrieve = async () => {
  const [newest] = await ended()
  return service.client.retrieveNotification({ accountId: 1, notificationId: newest!.delivery!.id })
}

test('an appointment is told in text and HTML, in the local time, with an invitation', async () => {
  const { mails } = await start()
  const event = notification()
  await publish(event)
  const [mail] = await eventually(() => {
    expect(mails).toHaveLength(1)
    return mails
  })
  expect(mail!.envelope).toEqual({ from: 'leads@example.com', to: ['sam@example.com'] })
  expect(mail!.subject).toBe('Appointment: Fenster <b>groß</b> & klein')
  expect(mail!.messageId).toBe(`<${event.eventId}@example.com>`)
  expect(mail!.date).toEqual(new Date('2026-06-01T08:00:00.000Z'))
  expect(mail!.headers.get('auto-submitted')).toBe('auto-generated')
  expect(mail!.text).toContain('Hello Zoë "Z" Ångström,')
  expect(mail!.text).toMatch(/When: +Wednesday.* 24 June 2026.* 14:30 \(Europe\/London\)/)
  expect(mail!.html).toContain('Fenster &#60;b&#62;groß&#60;/b&#62; &#38; klein')
  expect(mail!.html).not.toContain('<b>')

  const invitation = mail!.attachments.find(({ contentType }) => contentType.startsWith('text/calendar'))
  const calendar = new ICAL.Component(ICAL.parse(invitation!.content.toString()))
  expect(calendar.getFirstPropertyValue('method')).toBe('REQUEST')
  const entry = new ICAL.Event(calendar.getFirstSubcomponent('vevent')!)
  expect(entry.startDate.toJSDate()).toEqual(new Date('2026-06-24T13:30:00Z'))
  expect(entry.endDate.toJSDate()).toEqual(new Date('2026-06-24T14:30:00Z'))
  expect(entry.summary).toBe('Appointment: Fenster <b>groß</b> & klein')
  expect(entry.uid).toBe(`${event.eventId}@leadwire`)
  expect(entry.organizer).toBe('mailto:leads@example.com')
  expect(entry.attendees.map((attendee) => attendee.getFirstValue())).toEqual(['MAILTO:sam@example.com'])
  expect(entry.attendees[0]!.getParameter('cn')).toBe("Zoë 'Z' Ångström")

  const { notification: told, attempts } = await retrieve()
  expect(told).toMatchObject({
    ...{ subject: 'appointment', userId: 5, userEmail: 'sam@example.com', date: event.date },
    delivery: { status: 'delivered', attemptCount: 1, leadReference: event.leadReference },
  })
  expect(attempts).toMatchObject([{ number: 1, status: 250, response: expect.stringMatching(/^250 /) }])
  expect(attempts[0]!.error).toBeUndefined()
})

test('an assignment is told without an invitation, and a callback with a short one', async () => {
  const { mails } = await start()
  await publish(notification({ subject: 'assigned', date: undefined }), notification({ subject: 'callback' }))
  await eventually(() => expect(mails).toHaveLength(2))
  const [assigned, callback] = mails.toSorted((one, other) => (one.subject! < other.subject! ? 1 : -1))
  expect(assigned!.subject).toMatch(/^Lead: /)
  expect(assigned!.attachments).toEqual([])
  expect(callback!.subject).toMatch(/^Callback: /)
  expect(callback!.attachments[0]!.content.toString()).toContain('DTEND:20260624T134500Z')
})

test('an event that comes again is told once, and no webhook endpoint is told of it', async () => {
  const receiver = await startReceiver()
  const { mails } = await start()
  await service.endpoint(1, receiver.url)
  const [event, next] = [notification(), notification()]
  await publish(event, event)
  await eventually(() => expect(mails).toHaveLength(1))
  await publish(event, next)
  await eventually(() => expect(mails).toHaveLength(2))
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(2)
  expect(await service.client.listDeliveries({ accountId: 1, page: 1 })).toMatchObject({ total: 0 })
  expect(receiver.requests).toEqual([])
  const eventIds = [event.eventId, randomUUID()]
  expect(await service.client.findHeldEvents({ eventIds })).toEqual({ eventIds: [event.eventId] })
  expect(await list(2)).toEqual([])
  await receiver.stop()
})

test('what the server refuses for now is tried again on the schedule of webhooks', async () => {
  let refusals = 2
  const { mails } = await start(
    {
      onRcptTo: (_address, _session, done) =>
        refusals-- > 0 ? done(reply(451, 'Greylisted, come back')) : done(),
    },
    { WEBHOOK_RETRY_SCHEDULE: [50, 100, 200] },
  )
  await publish(notification())
  const { notification: told, attempts } = await retrieve()
  expect(told!.delivery).toMatchObject({ status: 'delivered', attemptCount: 3 })
  expect(attempts.map(({ status, error }) => [status, error])).toEqual([
    [451, 'smtp_status'],
    [451, 'smtp_status'],
    [250, undefined],
  ])
  expect(attempts[0]!.response).toContain('Greylisted, come back')
  expect(mails).toHaveLength(1)
})

test('what the server refuses for good ends at once', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(550, 'No such user')) })
  await publish(notification())
  const { notification: told, attempts } = await retrieve()
  expect(told!.delivery).toMatchObject({ status: 'exhausted', attemptCount: 1 })
  expect(attempts).toMatchObject([{ status: 550, error: 'smtp_status' }])
})

test('a refusal of our sender is no refusal of the message', async () => {
  await start(
    { onMailFrom: (_address, _session, done) => done(reply(550, 'Not you')) },
    { WEBHOOK_RETRY_SCHEDULE: [50] },
  )
  await publish(notification())
  expect((await retrieve()).attempts.map(({ status }) => status)).toEqual([550, 550])
})

test('a message that the server has and does not answer for is not sent again, unless somebody asks', async () => {
  let taken = 0
  await start(
    {
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          taken += 1
          if (taken > 1) done()
        })
      },
    },
    { SMTP_TIMEOUT: 1000, WEBHOOK_RETRY_SCHEDULE: [50] },
  )
  await publish(notification())
  const { notification: told, attempts } = await retrieve()
  expect(told!.delivery).toMatchObject({ status: 'exhausted', attemptCount: 1 })
  expect(attempts).toMatchObject([{ error: 'unconfirmed' }])
  const key = { accountId: 1, notificationId: told!.delivery!.id }
  expect((await service.client.retryNotification(key)).notification).toMatchObject({ userId: 5 })
  await eventually(async () => {
    const found = await service.client.retrieveNotification(key)
    expect(found.attempts).toMatchObject([{ error: 'unconfirmed' }, { status: 250 }])
  })
  await expect(service.client.retryNotification({ ...key, accountId: 2 })).rejects.toMatchObject({
    ...{ code: 'not_found', detail: 'There is no such notification.' },
  })
})

test('a drain leaves what is not sent to another process, and sends nothing twice that may have been taken', async () => {
  const held: (() => void)[] = []
  const seen = { begun: 0, taken: 0 }
  const server = await start(
    {
      onMailFrom: ({ address }, _session, done) => {
        seen.begun += 1
        // The first message is held before it is sent, the others are not.
        if (seen.begun === 1) held.push(done)
        else done(address === '' ? reply(550, 'Nobody') : null)
      },
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          seen.taken += 1
          // The second message is taken, and nobody is told.
          if (seen.taken > 1) done()
        })
      },
    },
    { SMTP_TIMEOUT: 60_000 },
  )
  await publish(notification())
  await eventually(() => expect(seen.begun).toBe(1))
  await publish(notification())
  await eventually(() => expect(seen.taken).toBe(1))
  await service.stop()
  service = await startService(doors, { SMTP_URL: server.target })
  const statuses = (await ended(2)).map(({ delivery }) => delivery!.status)
  expect(statuses.toSorted()).toEqual(['delivered', 'exhausted'])
  expect(seen).toEqual({ begun: 3, taken: 2 })
})

test('a domain of other letters is told in ASCII, and what no server takes ends at once', async () => {
  const from = { name: '', address: 'leads@example.com' }
  const message = await composeMessage(notification({ userEmail: 'sam@bücher.example' }), {
    ...{ from, timeZone: 'Europe/London' },
  })
  expect(message.to).toBe('sam@xn--bcher-kva.example')
  const { mails } = await start()
  await publish(
    notification({ userEmail: 'sam@bücher.example' }),
    notification({ userEmail: '"a<b"@example.com' }),
  )
  const found = await ended(2)
  expect(found.map(({ delivery }) => delivery!.status).toSorted()).toEqual(['delivered', 'exhausted'])
  expect(mails).toHaveLength(1)
  const { id } = found.find(({ delivery }) => delivery!.status === 'exhausted')!.delivery!
  const { attempts } = await service.client.retrieveNotification({ accountId: 1, notificationId: id })
  expect(attempts).toHaveLength(1)
})

test('what a server answers is kept as text that can be stored', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(550, 'b'.repeat(9000))) })
  await publish(notification())
  const { attempts } = await retrieve()
  expect(keptText('a\0b')).toBe('ab')
  expect(attempts[0]!.response!.length).toBeLessThanOrEqual(4096)
})

test('eight messages are under way at most', async () => {
  let open = 0
  let most = 0
  const { mails } = await start({
    onMailFrom: (_address, _session, done) => {
      open += 1
      most = Math.max(most, open)
      setTimeout(() => {
        open -= 1
        done()
      }, 300)
    },
  })
  await publish(...Array.from({ length: 30 }, (_, index) => notification({ accountId: index + 1 })))
  await eventually(() => expect(mails).toHaveLength(30))
  expect(most).toBeLessThanOrEqual(8)
})

test('a server that is away, or offers no TLS for a password, is tried again', async () => {
  let logins = 0
  const server = await startMailServer({
    onAuth: (_auth, _session, done) => {
      logins += 1
      done(null, { user: 'us' })
    },
  })
  servers.push(server)
  const schedule = { WEBHOOK_RETRY_SCHEDULE: [50] }
  const auth = { user: 'us', pass: 'secret' }
  service = await startService(doors, {
    SMTP_URL: { server: { ...server.target.server, auth } },
    ...schedule,
  })
  await publish(notification())
  const clear = await retrieve()
  expect(clear.attempts.map(({ error }) => error)).toEqual(['tls', 'tls'])
  expect(logins).toBe(0)
  await service.stop()
  await server.stop()
  servers.pop()
  service = await startService(doors, { SMTP_URL: server.target, ...schedule })
  await publish(notification({ accountId: 2 }))
  await eventually(async () => expect((await list(2))[0]?.delivery?.status).toBe('exhausted'))
  const id = (await list(2))[0]!.delivery!.id
  const { attempts } = await service.client.retrieveNotification({ accountId: 2, notificationId: id })
  expect(attempts.map(({ error }) => error)).toEqual(['refused', 'refused'])
})

test('a mail server that hangs holds up no webhook, and is given up in time', async () => {
  const receiver = await startReceiver()
  await start({ onMailFrom: () => undefined }, { SMTP_TIMEOUT: 1000, WEBHOOK_RETRY_SCHEDULE: [] })
  await service.endpoint(1, receiver.url)
  await publish(...Array.from({ length: 40 }, () => notification()))
  await eventually(async () =>
    expect(await service.metric('leadwire_notification_attempts_in_flight')).toBeGreaterThan(0),
  )
  await doors.publish(...Array.from({ length: 50 }, () => doors.event(1)))
  await eventually(() => expect(receiver.requests).toHaveLength(50))
  await eventually(async () => expect((await list()).length).toBe(20))
  const found = await eventually(async () => {
    const { notifications } = await service.client.listNotifications({
      ...{ accountId: 1, page: 1, status: 'exhausted' },
    })
    expect(notifications.length).toBeGreaterThan(0)
    return notifications
  })
  const { attempts } = await service.client.retrieveNotification({
    accountId: 1,
    notificationId: found[0]!.delivery!.id,
  })
  expect(attempts).toMatchObject([{ error: 'timeout' }])
  await receiver.stop()
})

test('what is no notification is refused and counted', async () => {
  const { mails } = await start()
  const broken = [
    { userEmail: 'nobody' },
    { userId: 0 },
    { accountId: 0 },
    { leadReference: 'none' },
    { subject: 'other' },
    { date: undefined },
    { date: 'tomorrow' },
    { requestedAt: '' },
  ]
  await publish(...broken.map(notification), notification())
  await eventually(() => expect(mails).toHaveLength(1))
  await eventually(async () =>
    expect(await service.metric('leadwire_notification_events_refused_total')).toBe(broken.length),
  )
  const manager = await jetstreamManager(doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, NOTIFICATION_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})

test('without a mail server a message is a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-mail-'))
  await start({}, { SMTP_URL: { folder: join(folder, 'mail') } })
  const event = notification()
  await publish(event)
  await ended()
  expect(await readdir(join(folder, 'mail'))).toEqual([`${event.eventId}.eml`])
  const text = await readFile(join(folder, 'mail', `${event.eventId}.eml`), 'utf8')
  expect(text).toContain('To: ')
  await rm(folder, { recursive: true })
})
