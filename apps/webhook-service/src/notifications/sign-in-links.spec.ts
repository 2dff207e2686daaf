import { randomBytes, randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { createLogger } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { SETTINGS } from '../service.fixture'
import { reply } from './mail-server.fixture'
import { LINK, notification, signIn, startMailing } from './notifications.fixture'

const { running, boot, start, publish, list, ended, retrieve } = startMailing()

const SECRET = LINK.split('=')[1]!
const MINUTE_MS = 60_000

const listLinks = async () =>
  (
    await running.doors.rows<{ id: string }>(
      'SELECT event_id AS id FROM notifications.sign_in_links ORDER BY created_at',
    )
  ).map(({ id }) => id)

const expectLinks = (eventIds: string[]) =>
  eventually(async () => expect(await listLinks()).toEqual(eventIds))

/** Stores a link without an event. Returns the id that the event would have. */
const storeStrayLink = async (ageMs: number): Promise<string> => {
  const id = randomUUID()
  await running.doors.rows(
    `INSERT INTO notifications.sign_in_links (event_id, sealed_link, created_at)
     VALUES ($1, '', now() - $2 * interval '1 ms')`,
    [id, ageMs],
  )
  return id
}

/** Waits until a round of the loop has deleted links. */
const deletionHasRun = async () => {
  const stray = await storeStrayLink(11 * MINUTE_MS)
  await eventually(async () => expect(await listLinks()).not.toContain(stray))
}

const hasArrived = (mails: unknown[], count = 1) => eventually(() => expect(mails).toHaveLength(count))

const retryNewest = async () => {
  const [newest] = await list()
  const key = { accountId: 1, notificationId: newest!.delivery!.id }
  await running.service.client.retryNotification(key)
  return eventually(async () => {
    const retrieved = await running.service.client.retrieveNotification(key)
    expect(retrieved.attempts).toHaveLength(newest!.delivery!.attemptCount + 1)
    return retrieved
  })
}

/** Creates a logger that keeps everything that it is told to log. */
const createRecorder = () => {
  const lines: string[] = []
  const record = (...logged: unknown[]) => void lines.push(inspect(logged, { depth: 10 }))
  const silent = createLogger({ service: 'webhook-service', level: 'silent' })
  return { lines, logger: Object.assign(silent, { info: record, warn: record, error: record }) }
}

test('a sign-in e-mail has the link, and says when and where the link works', async () => {
  const { mails } = await start()
  const event = signIn()
  await publish(event)
  await hasArrived(mails)
  const [mail] = mails
  expect(mail!.envelope.to).toEqual(['sam@example.com'])
  expect(mail!.subject).toBe('Sign in to Leadwire')
  expect(mail!.text!.split('\n').filter((line) => line !== '')).toEqual([
    'Hello Sam,',
    'Use this link to sign in to Leadwire for Bay & Sons.',
    LINK,
    expect.stringMatching(
      /^The link works once, until Wednesday.* 24 June 2026.* 14:30 \(Europe\/London\), and only in the browser that asked for it\.$/,
    ),
    'If you did not ask for this e-mail, ignore it.',
  ])
  expect(mail!.html).toContain(`<a href="${LINK}">${LINK}</a>`)
  expect(mail!.html).toContain('and only in the browser that asked for it.')
  expect(mail!.html).not.toContain('<table')
  expect(mail!.attachments).toEqual([])

  const retrieved = await retrieve()
  expect(retrieved).toMatchObject({
    notification: {
      subject: 'sign_in',
      userId: 5,
      userEmail: 'sam@example.com',
      delivery: { status: 'delivered', leadReference: '' },
    },
    attempts: [{ status: 250 }],
  })
  expect(retrieved.notification!.date).toBeUndefined()
  expect(retrieved.notification!.endpointId).toBeUndefined()
  expect(inspect([retrieved, await list()], { depth: 10 })).not.toContain(SECRET)
})

test('an invitation has the link, and says when the link ends', async () => {
  const { mails } = await start()
  await publish(signIn({ subject: 'invitation', accountName: 'Bay\r\nSons' }))
  await hasArrived(mails)
  const [mail] = mails
  expect(mail!.subject).toBe('Bay Sons invites you to Leadwire')
  const lines = mail!.text!.split('\n')
  expect(lines).toContain('Bay Sons invites you to Leadwire. Use this link to sign in:')
  expect(lines).toContain(LINK)
  expect(mail!.text).toMatch(
    /The link works once, until Wednesday.* 24 June 2026.* 14:30 \(Europe\/London\)\./,
  )
  expect(mail!.text).not.toContain('browser')
  expect(mail!.html).toContain(`<a href="${LINK}">${LINK}</a>`)
  expect(mail!.attachments).toEqual([])
  expect((await retrieve()).notification).toMatchObject({ subject: 'invitation', userId: 5 })
})

test('a link is stored apart from its event, and is deleted after the delivery', async () => {
  let isBusy = true
  const { mails } = await start({ onContent: () => (isBusy ? reply(451, 'Come back') : undefined) })
  const event = signIn()
  await publish(event)
  await eventually(async () => expect((await list())[0]?.delivery?.attemptCount).toBe(1))
  await deletionHasRun()
  expect(await listLinks()).toEqual([event.eventId])
  const [stored] = await running.doors.rows<{ body: Buffer }>('SELECT body FROM notifications.events')
  expect(stored!.body.includes(event.userEmail)).toBe(true)
  expect(stored!.body.includes(SECRET)).toBe(false)
  expect(stored!.body.includes(Buffer.from(event.sealedLink!).subarray(-16))).toBe(false)

  isBusy = false
  await running.doors.rows('UPDATE notifications.deliveries SET next_attempt_at = now()')
  await hasArrived(mails)
  await expectLinks([])
})

test('the link of an exhausted e-mail is deleted', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(550, 'No such user')) })
  await publish(signIn())
  await ended()
  await expectLinks([])
})

test('a message that arrives again sends no second e-mail, and leaves no link', async () => {
  const { mails } = await start()
  const event = signIn()
  await publish(event, event)
  await hasArrived(mails)
  await expectLinks([])
  await publish(event, notification())
  await hasArrived(mails, 2)
  await deletionHasRun()
  expect(await listLinks()).toEqual([])
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(2)
})

test('stray links and old links are deleted', async () => {
  const { mails } = await start({ onRcptTo: (_address, _session, done) => done(reply(450, 'Come back')) })
  const event = signIn()
  await publish(event)
  await expectLinks([event.eventId])
  const stray = await storeStrayLink(9 * MINUTE_MS)
  await deletionHasRun()
  expect((await listLinks()).toSorted()).toEqual([event.eventId, stray].toSorted())
  await running.doors.rows(
    `UPDATE notifications.sign_in_links SET created_at = created_at - interval '8 days'`,
  )
  await expectLinks([])
  expect(mails).toEqual([])
})

test('an attempt after the end of the delivery fails, and says why', async () => {
  const { mails } = await start()
  await publish(signIn())
  await ended()
  await expectLinks([])
  const { notification: sent, attempts } = await retryNewest()
  expect(sent!.delivery).toMatchObject({ status: 'delivered', attemptCount: 2 })
  expect(attempts).toMatchObject([
    { status: 250 },
    {
      error: 'unsendable',
      reason: 'The link is no longer stored, so it cannot be sent. Request a new link.',
    },
  ])
  expect(mails).toHaveLength(1)
})

test('a link that no key decrypts is sent when the key is configured', async () => {
  const { lines, logger } = createRecorder()
  const { mails, target } = await start({}, { logger })
  const key = randomBytes(32)
  await publish(signIn({}, [key]))
  const error = 'attempt not made because of an internal error; retrying when the claim expires'
  await eventually(() => expect(lines.join('\n')).toContain(error))
  expect(await list()).toMatchObject([{ delivery: { status: 'pending', attemptCount: 0 } }])
  await running.service.stop()
  // Ends the claim early.
  await running.doors.rows('UPDATE notifications.deliveries SET claim = NULL, claimed_until = NULL')
  await boot({ SMTP_URL: target, ENCRYPTION_KEYS: [...SETTINGS.ENCRYPTION_KEYS, key] })
  await hasArrived(mails)
  await expectLinks([])
})

test('a response that quotes the link is not kept', async () => {
  const { lines, logger } = createRecorder()
  const responses = [reply(550, `Refused: ${LINK}`), reply(550, `Refused: ${SECRET.slice(0, 20)}`)]
  await start({ onContent: () => responses.shift() ?? reply(550, 'Refused: example.com') }, { logger })
  await publish(signIn())
  await ended()
  await publish(signIn())
  await ended(2)
  await publish(signIn())
  await ended(3)
  const found = await Promise.all(
    (await list()).map(({ delivery }) =>
      running.service.client.retrieveNotification({ accountId: 1, notificationId: delivery!.id }),
    ),
  )
  const hidden = 'The response is not kept, because it quotes the link.'
  expect(found.map(({ attempts }) => attempts[0]!.response)).toEqual([
    expect.stringContaining('Refused: example.com'),
    hidden,
    hidden,
  ])
  expect(lines.join('\n')).toContain('smtp_status')
  expect(lines.join('\n')).not.toContain(SECRET.slice(0, 20))
})

test('the link of a held e-mail is kept, and sent after the suspension', async () => {
  const { mails } = await start()
  // Creates the mailbox, which the suspension disables.
  await publish(notification())
  await hasArrived(mails)
  await running.service.client.holdAccount({ accountId: 1, held: true })
  const event = signIn()
  await publish(event)
  await eventually(async () => expect((await list())[0]!.delivery).toMatchObject({ status: 'held' }))
  await deletionHasRun()
  expect(await listLinks()).toEqual([event.eventId])
  await running.service.client.holdAccount({ accountId: 1, held: false })
  await hasArrived(mails, 2)
  await expectLinks([])
})

test('the link of an event that waits for its fan-out is kept', async () => {
  const { mails } = await start()
  await running.doors.rows(
    'ALTER TABLE notifications.deliveries ADD CONSTRAINT held CHECK (account_id <> 1) NOT VALID',
  )
  const event = signIn()
  await publish(event)
  await eventually(async () =>
    expect(await running.doors.rows('SELECT FROM notifications.fan_out_queue')).toHaveLength(1),
  )
  await deletionHasRun()
  expect(await listLinks()).toEqual([event.eventId])
  await running.doors.rows('ALTER TABLE notifications.deliveries DROP CONSTRAINT held')
  await hasArrived(mails)
  await expectLinks([])
})

test('the removal of an account deletes its links', async () => {
  await start({ onRcptTo: (_address, _session, done) => done(reply(450, 'Come back')) })
  const kept = signIn({ accountId: 2 })
  await publish(signIn(), kept)
  await eventually(async () => {
    expect(await list(1)).toHaveLength(1)
    expect(await list(2)).toHaveLength(1)
  })
  while (!(await running.service.client.removeAccount({ accountId: 1 })).done);
  expect(await listLinks()).toEqual([kept.eventId])
})

test('an invalid sign-in e-mail becomes a dead letter, and stores no link', async () => {
  const { mails } = await start()
  const broken = [
    { leadReference: randomUUID() },
    { date: '2026-06-24T13:30:00.000000Z' },
    { userId: 0 },
    { userEmail: 'nobody' },
    { sealedLink: undefined },
    { sealedLink: Buffer.alloc(0) },
    { linkExpiresAt: undefined },
    { linkExpiresAt: 'soon', subject: 'invitation' },
  ].map((change) => signIn(change))
  await publish(...broken, signIn())
  await hasArrived(mails)
  await eventually(async () =>
    expect(await running.service.metric('leadwire_notification_events_refused_total')).toBe(broken.length),
  )
  const { refused } = await running.service.client.findStoredEvents({
    eventIds: broken.map(({ eventId }) => eventId),
  })
  expect(refused.map(({ reason }) => reason).toSorted()).toEqual([
    'the end of the link is missing or invalid',
    'the end of the link is missing or invalid',
    'the link is missing',
    'the link is missing',
    'the notification must not have a date',
    'the notification must not have a lead',
    'the user is missing or invalid',
    'the user is missing or invalid',
  ])
  await expectLinks([])
})
