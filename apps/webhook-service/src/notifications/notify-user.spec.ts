import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEADS_STREAM, NOTIFICATION_CONSUMER } from '@leadwire/contracts'
import { createAuthority, eventually, startReceiver, writeAuthorities } from '@leadwire/test-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import { cutText } from '../delivery/attempt/read-response'
import { reply, startMailServer } from './mail-server.fixture'
import { notification, startMailing } from './notifications.fixture'

const { running, servers, boot, start, publish, list, ended, retrieve } = startMailing()

test('an event that arrives again is sent once, and to no webhook endpoint', async () => {
  const receiver = await startReceiver()
  const { mails } = await start()
  await running.service.endpoint(1, receiver.url)
  const [event, next] = [notification(), notification()]
  await publish(event, event)
  await eventually(() => expect(mails).toHaveLength(1))
  await publish(event, next)
  await eventually(() => expect(mails).toHaveLength(2))
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(2)
  expect(await running.service.client.listDeliveries({ accountId: 1, page: 1 })).toMatchObject({ total: 0 })
  expect(receiver.requests).toEqual([])
  const eventIds = [event.eventId, randomUUID()]
  expect(await running.service.client.findStoredEvents({ eventIds })).toMatchObject({
    eventIds: [event.eventId],
  })
  expect(await list(2)).toEqual([])
  await receiver.stop()
})

test('content that the server temporarily refuses is retried on the schedule of webhooks', async () => {
  let refusals = 2
  const { mails } = await start(
    { onContent: () => (refusals-- > 0 ? reply(451, 'Scanner unavailable, come back') : undefined) },
    { WEBHOOK_RETRY_SCHEDULE: [50, 100, 200] },
  )
  await publish(notification())
  const { notification: sent, attempts } = await retrieve()
  expect(sent!.delivery).toMatchObject({ status: 'delivered', attemptCount: 3 })
  expect(attempts.map(({ status, error }) => [status, error])).toEqual([
    [451, 'smtp_status'],
    [451, 'smtp_status'],
    [250, undefined],
  ])
  expect(attempts[0]!.response).toContain('Scanner unavailable, come back')
  expect(mails).toHaveLength(1)
})

test('a message that the server permanently refuses is exhausted at once', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(550, 'No such user')) })
  await publish(notification())
  const { notification: sent, attempts } = await retrieve()
  expect(sent!.delivery).toMatchObject({ status: 'exhausted', attemptCount: 1 })
  expect(attempts).toMatchObject([{ status: 550, error: 'smtp_status' }])
})

test('a refusal of the sender does not end the message', async () => {
  await start(
    { onMailFrom: (_address, _session, done) => done(reply(550, 'Not you')) },
    { WEBHOOK_RETRY_SCHEDULE: [50] },
  )
  await publish(notification())
  expect((await retrieve()).attempts.map(({ status }) => status)).toEqual([550, 550])
})

test('an unconfirmed message is sent again only on request', async () => {
  let taken = 0
  await start(
    {
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          taken += 1
          if (taken > 1) done()
          else servers[0]!.cut()
        })
      },
    },
    { WEBHOOK_RETRY_SCHEDULE: [50] },
  )
  await publish(notification())
  const { notification: sent, attempts } = await retrieve()
  expect(sent!.delivery).toMatchObject({ status: 'exhausted', attemptCount: 1 })
  expect(attempts).toMatchObject([{ error: 'unconfirmed' }])
  const key = { accountId: 1, notificationId: sent!.delivery!.id }
  expect((await running.service.client.retryNotification(key)).notification).toMatchObject({ userId: 5 })
  await eventually(async () => {
    const found = await running.service.client.retrieveNotification(key)
    expect(found.attempts).toMatchObject([{ error: 'unconfirmed' }, { status: 250 }])
  })
  await expect(running.service.client.retryNotification({ ...key, accountId: 2 })).rejects.toMatchObject({
    code: 'not_found',
    detail: 'There is no such notification.',
  })
})

test('a notification that is pruned while it is read is neither listed nor found', async () => {
  await start()
  await publish(notification())
  const { notification: sent } = await retrieve()
  await running.doors.rows('DELETE FROM notifications.events')
  expect(await list()).toEqual([])
  const key = { accountId: 1, notificationId: sent!.delivery!.id }
  await expect(running.service.client.retrieveNotification(key)).rejects.toMatchObject({ code: 'not_found' })
})

test('after a drain, another process sends unsent messages, and none that may have been accepted', async () => {
  const held: (() => void)[] = []
  const seen = { begun: 0, taken: 0 }
  const server = await start(
    {
      onMailFrom: ({ address }, _session, done) => {
        seen.begun += 1
        // The server delays only the first message.
        if (seen.begun === 1) held.push(done)
        else done(address === '' ? reply(550, 'Nobody') : null)
      },
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          seen.taken += 1
          // The server still holds the first message, so the data of the second message arrives first. The
          // server takes this data and never responds, so the service must assume that the server has
          // accepted the message.
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
  await running.service.stop()
  await boot({ SMTP_URL: server.target })
  const statuses = (await ended(2)).map(({ delivery }) => delivery!.status)
  expect(statuses.toSorted()).toEqual(['delivered', 'exhausted'])
  expect(seen).toEqual({ begun: 3, taken: 2 })
})

test('the response of a server is kept as text that can be stored', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(550, 'b'.repeat(9000))) })
  await publish(notification())
  const { attempts } = await retrieve()
  expect(cutText('a\0b')).toBe('ab')
  expect(attempts[0]!.response!.length).toBeLessThanOrEqual(4096)
})

test('at most eight messages are in flight', async () => {
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

test('a message is retried if the server is unavailable, or offers no TLS to protect a password', async () => {
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
  await boot({
    SMTP_URL: { server: { ...server.target.server, auth } },
    ...schedule,
  })
  await publish(notification())
  const clear = await retrieve()
  expect(clear.attempts.map(({ error }) => error)).toEqual(['tls', 'tls'])
  expect(logins).toBe(0)
  await running.service.stop()
  await server.stop()
  servers.pop()
  await boot({ SMTP_URL: server.target, ...schedule })
  await publish(notification({ accountId: 2 }))
  await eventually(async () => expect((await list(2))[0]?.delivery?.status).toBe('exhausted'))
  const id = (await list(2))[0]!.delivery!.id
  const { attempts } = await running.service.client.retrieveNotification({ accountId: 2, notificationId: id })
  expect(attempts.map(({ error }) => error)).toEqual(['refused', 'refused'])
})

test('a mail server is trusted only with the configured authority, also after the file was replaced', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-mail-'))
  const authority = await createAuthority()
  const caFile = await writeAuthorities(folder, [await createAuthority()])
  const secured: boolean[] = []
  const { mails } = await start(
    {
      ...(await authority.issue('mail')),
      disabledCommands: [],
      onMailFrom: (_address, { secure }, done) => {
        secured.push(secure)
        done()
      },
    },
    { SMTP_CA_FILE: caFile, WEBHOOK_RETRY_SCHEDULE: Array.from({ length: 500 }, () => 50) },
  )
  await publish(notification())
  await eventually(async () => expect((await list())[0]?.delivery?.attemptCount).toBeGreaterThan(1))
  await writeAuthorities(folder, [authority])
  await eventually(() => expect(mails).toHaveLength(1))
  const { attempts } = await retrieve()
  expect(attempts.slice(0, -1).map(({ error }) => error)).toEqual(attempts.slice(1).map(() => 'tls'))
  expect(attempts.at(-1)).toMatchObject({ status: 250 })
  expect(secured).toEqual([true])
  await rm(folder, { recursive: true })
})

test('a hanging mail server delays no webhook, and the attempt times out', async () => {
  const receiver = await startReceiver()
  await start({ onMailFrom: () => undefined }, { SMTP_TIMEOUT: 1000, WEBHOOK_RETRY_SCHEDULE: [] })
  await running.service.endpoint(1, receiver.url)
  await publish(...Array.from({ length: 40 }, () => notification()))
  await eventually(async () =>
    expect(await running.service.metric('leadwire_notification_attempts_in_flight')).toBeGreaterThan(0),
  )
  await running.doors.publish(...Array.from({ length: 50 }, () => running.doors.event(1)))
  await eventually(() => expect(receiver.requests).toHaveLength(50))
  await eventually(async () => expect((await list()).length).toBe(20))
  const found = await eventually(async () => {
    const { notifications } = await running.service.client.listNotifications({
      accountId: 1,
      page: 1,
      status: 'exhausted',
    })
    expect(notifications.length).toBeGreaterThan(0)
    return notifications
  })
  const { attempts } = await running.service.client.retrieveNotification({
    accountId: 1,
    notificationId: found[0]!.delivery!.id,
  })
  expect(attempts).toMatchObject([{ error: 'timeout' }])
  await receiver.stop()
})

test('an erasure is not complete while a message of the lead is in flight', async () => {
  const held: (() => void)[] = []
  await start(
    { onMailFrom: (_address, _session, done) => void held.push(() => done(reply(550, 'Nobody'))) },
    { SMTP_TIMEOUT: 60_000 },
  )
  const event = notification()
  await publish(event)
  await eventually(() => expect(held).toHaveLength(1))
  const request = { accountId: 1, leadReference: event.leadReference, eventIds: [], tombstone: false }
  const erase = () => running.service.client.eraseLeadEvents(request)
  expect(await erase()).toMatchObject({ notificationEvents: 1, attemptsInFlight: true })
  // Shortens the time until the longest attempt would have ended.
  await running.doors.rows("UPDATE notifications.deliveries SET claimed_until = now() + interval '1 second'")
  await eventually(async () => expect(await erase()).toMatchObject({ attemptsInFlight: false }))
  for (const refuse of held) refuse()
})

test('an invalid notification becomes a dead letter and is counted', async () => {
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
    expect(await running.service.metric('leadwire_notification_events_refused_total')).toBe(broken.length),
  )
  const manager = await jetstreamManager(running.doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, NOTIFICATION_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})
