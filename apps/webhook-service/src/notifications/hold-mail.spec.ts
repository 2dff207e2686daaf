import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, eventually, writeAuthorities } from '@leadwire/test-kit'
import type { SMTPServerOptions } from 'smtp-server'
import { reply, startMailServer } from './mail-server.fixture'
import { notification, startMailing } from './notifications.fixture'

const { running, servers, boot, start, publish, list, retrieve } = startMailing()

/** Creates a function that returns a refusal for every fifth step, and null for all other steps. */
const refuseEachFifth = (status: number) => {
  let steps = 0
  return (): Error | null => {
    steps += 1
    return steps % 5 === 0 ? reply(status, 'Too much, come back') : null
  }
}

type Limit = ReturnType<typeof refuseEachFifth>

const LIMITED: [string, number, (limit: Limit) => Parameters<typeof startMailServer>[0]][] = [
  ['connections', 421, (limit) => ({ onConnect: (_session, done) => done(limit()) })],
  ['senders', 421, (limit) => ({ onMailFrom: (_address, _session, done) => done(limit()) })],
  ['senders', 450, (limit) => ({ onMailFrom: (_address, _session, done) => done(limit()) })],
  ['recipients', 452, (limit) => ({ onRcptTo: (_address, _session, done) => done(limit()) })],
  ['messages', 421, (limit) => ({ onContent: () => limit() ?? undefined })],
]

test.each(
  LIMITED,
)('a server that temporarily refuses some %s with %i gets every message in one attempt', async (_, status, settings) => {
  const { mails } = await start(settings(refuseEachFifth(status)), { WEBHOOK_RETRY_SCHEDULE: [] })
  await publish(...Array.from({ length: 16 }, (_each, index) => notification({ accountId: 1 + (index % 4) })))
  await eventually(() => expect(mails).toHaveLength(16))
  await eventually(async () =>
    expect(
      await running.doors.rows(
        'SELECT status, attempt_count, count(*)::int FROM notifications.deliveries GROUP BY 1, 2',
      ),
    ).toEqual([{ status: 'delivered', attempt_count: 1, count: 16 }]),
  )
  expect(await running.service.metric('leadwire_notification_refusals_total')).toBeGreaterThan(0)
})

test('a temporarily refused recipient does not hold back messages to others', async () => {
  let deferred = 0
  const { mails } = await start(
    {
      onRcptTo: ({ address }, _session, done) => {
        if (!address.startsWith('full')) return done()
        deferred += 1
        done(reply(452, 'Mailbox full'))
      },
    },
    { WEBHOOK_RETRY_SCHEDULE: [] },
  )
  const full = notification({ userEmail: 'full@example.com' })
  await publish(full)
  await eventually(() => expect(deferred).toBeGreaterThan(0))
  await publish(...Array.from({ length: 10 }, () => notification()))
  await eventually(() => expect(mails).toHaveLength(10))
  const waiting = (await list()).find(({ delivery }) => delivery!.eventId === full.eventId)!.delivery!
  expect(waiting).toMatchObject({ status: 'pending', attemptCount: 0 })

  // After a day, temporary refusals of a message count as attempts.
  await running.doors.rows(
    `UPDATE notifications.deliveries SET created_at = now() - interval '25 hours', next_attempt_at = now()
     WHERE status = 'pending'`,
  )
  await eventually(async () =>
    expect((await list()).find(({ delivery }) => delivery!.eventId === full.eventId)!.delivery).toMatchObject(
      {
        status: 'exhausted',
        attemptCount: 1,
      },
    ),
  )
})

test('a manual attempt that is temporarily refused is repeated', async () => {
  let mode: 'gone' | 'busy' | 'ready' = 'gone'
  let busy = 0
  const { mails } = await start({
    onRcptTo: (_address, _session, done) => {
      if (mode === 'gone') return done(reply(550, 'No such user'))
      if (mode === 'ready') return done()
      busy += 1
      done(reply(450, 'Come back'))
    },
  })
  await publish(notification())
  const { notification: sent } = await retrieve()
  mode = 'busy'
  await running.service.client.retryNotification({ accountId: 1, notificationId: sent!.delivery!.id })
  await eventually(() => expect(busy).toBeGreaterThan(0))
  mode = 'ready'
  await eventually(() => expect(mails).toHaveLength(1))
  await eventually(async () =>
    expect((await retrieve()).attempts.map(({ status }) => status)).toEqual([550, 250]),
  )
})

const refuseRecipient = (status: number, message: string): SMTPServerOptions => ({
  onRcptTo: (_address, _session, done) => done(reply(status, message)),
})

const ACCOUNT: [string, number, Parameters<typeof startMailServer>[0]][] = [
  ['a client', 554, { onConnect: (_session, done) => done(reply(554, 'Your address is blocked')) }],
  ['a session without login', 530, refuseRecipient(530, 'Authentication required')],
  ['a relay', 550, refuseRecipient(550, '5.7.1 Relaying denied')],
  ['a quota', 550, refuseRecipient(550, '5.4.5 Daily sending quota exceeded')],
  ['a mailbox', 552, { onContent: () => reply(552, '5.2.2 Submission quota exceeded') }],
  ['a policy', 554, { onContent: () => reply(554, '5.7.60 Not permitted to send as this sender') }],
]

test.each(
  ACCOUNT,
)('a refusal of %s with %i is logged and ends no message at once', async (_, status, settings) => {
  await start({ hideENHANCEDSTATUSCODES: true, ...settings }, { WEBHOOK_RETRY_SCHEDULE: [50] })
  await publish(notification())
  expect((await retrieve()).attempts.map((attempt) => attempt.status)).toEqual([status, status])
  expect(await running.service.metric('leadwire_notification_refusals_total')).toBe(2)
})

test('a refused login is logged, and a temporarily refused login does not count as an attempt', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-login-'))
  const authority = await createAuthority()
  const refusals = [reply(454, 'Try later'), reply(535, 'Wrong password')]
  const server = await startMailServer({
    ...(await authority.issue('mail')),
    disabledCommands: [],
    onAuth: (_auth, _session, done) => done(refusals.shift() ?? null, { user: 'us' }),
  })
  servers.push(server)
  await boot({
    SMTP_URL: { server: { ...server.target.server, auth: { user: 'us', pass: 'secret' } } },
    SMTP_CA_FILE: await writeAuthorities(folder, [authority]),
    WEBHOOK_RETRY_SCHEDULE: [50],
  })
  await publish(notification())
  expect((await retrieve()).attempts.map(({ status }) => status)).toEqual([535, 250])
  expect(await running.service.metrics()).toMatch(/refusals_total{[^}]*reason="account"[^}]*} 1\n/)
  await rm(folder, { recursive: true })
})
