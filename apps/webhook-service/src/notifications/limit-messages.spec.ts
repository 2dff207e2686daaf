import { eventually, manualClock } from '@leadwire/test-kit'
import { reply } from './mail-server.fixture'
import { notification, signIn, startMailing } from './notifications.fixture'

const HOUR_MS = 3_600_000

const { running, start, publish, list } = startMailing()

/** Counts messages by status. Messages that are claimed or have a manual attempt count as `open`. */
const countStatuses = async () => {
  const rows = await running.doors.rows<{ status: string; count: number }>(
    `SELECT CASE WHEN claim IS NOT NULL OR manual_at IS NOT NULL THEN 'open' ELSE status END AS status,
       count(*)::int AS count
     FROM notifications.deliveries GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

const expectStatuses = (expected: Record<string, number>) =>
  eventually(async () => expect(await countStatuses()).toEqual(expected))

const newUserMessages = (count: number, change: object = {}) =>
  Array.from({ length: count }, () => notification(change))

test('messages beyond the limit are not sent, and one digest lists them after the hour', async () => {
  const clock = manualClock()
  const { mails } = await start({}, { clock, NOTIFICATIONS_PER_HOUR: 3 })
  const other = { userId: 6, userEmail: 'kim@example.com' }
  const events = newUserMessages(30)
  await publish(...events, ...newUserMessages(2, other), notification({ accountId: 2 }))
  await expectStatuses({ delivered: 6, cancelled: 27, pending: 1 })
  expect(mails).toHaveLength(6)

  clock.advance(HOUR_MS + 10_000)
  await expectStatuses({ delivered: 7, cancelled: 27 })
  expect(mails).toHaveLength(7)
  const digest = mails.at(-1)!
  expect(digest.envelope.to).toEqual(['sam@example.com'])
  expect(digest.subject).toBe('Summary of notifications (27)')
  const sent = new Set(mails.slice(0, 6).map(({ messageId }) => messageId))
  const unsent = events.filter(({ eventId }) => !sent.has(`<${eventId}@example.com>`))
  expect(unsent).toHaveLength(27)
  for (const { leadReference } of unsent) {
    expect(digest.text).toContain(`24 June 2026 at 14:30 (Europe/London), lead ${leadReference}`)
    expect(digest.html).toContain(leadReference)
  }
  // A digest does not name the lead, because an erasure could not find the name in a digest.
  expect(digest.text).not.toContain('Fenster')
  expect(digest.attachments).toEqual([])
  const [newest] = (await list()).filter(({ subject }) => subject === 'digest')
  expect(newest).toMatchObject({ userId: 5, userEmail: 'sam@example.com', delivery: { status: 'delivered' } })

  await publish(notification())
  await expectStatuses({ delivered: 8, cancelled: 27 })
})

test('a message counts once, with any number of attempts', async () => {
  const clock = manualClock()
  let refusals = 3
  const onContent = () => (refusals-- > 0 ? reply(451, 'Come back') : undefined)
  const settings = { clock, NOTIFICATIONS_PER_HOUR: 2, WEBHOOK_RETRY_SCHEDULE: [10, 10, 10, 10] }
  const { mails } = await start({ onContent }, settings)
  await publish(notification())
  await eventually(() => {
    clock.advance(20)
    expect(mails).toHaveLength(1)
  })
  await publish(notification())
  await expectStatuses({ delivered: 2 })
  await publish(notification())
  await expectStatuses({ delivered: 2, cancelled: 1, pending: 1 })
})

test('a manual attempt counts as a message', async () => {
  const clock = manualClock()
  const { mails } = await start({}, { clock, NOTIFICATIONS_PER_HOUR: 2 })
  await publish(notification())
  await expectStatuses({ delivered: 1 })
  const [{ delivery } = { delivery: undefined }] = await list()
  const retry = async () => {
    await running.service.client.retryNotification({ accountId: 1, notificationId: delivery!.id })
    await eventually(async () => expect(await countStatuses()).not.toHaveProperty('open'))
  }
  await retry()
  expect(mails).toHaveLength(2)
  for (let count = 0; count < 3; count += 1) await retry()
  expect(mails).toHaveLength(2)
  await expectStatuses({ delivered: 1, pending: 1 })

  clock.advance(HOUR_MS + 10_000)
  await expectStatuses({ delivered: 2 })
  expect(mails.at(-1)!.subject).toBe('Summary of notifications (1)')
})

test('sign-in links and invitations are not limited, do not count, and are in no digest', async () => {
  const clock = manualClock()
  const { mails } = await start({}, { clock, NOTIFICATIONS_PER_HOUR: 1 })
  await publish(signIn(), signIn(), signIn({ subject: 'invitation' }), notification())
  await expectStatuses({ delivered: 4 })
  await publish(signIn(), signIn({ subject: 'invitation' }), notification())
  await expectStatuses({ delivered: 6, cancelled: 1, pending: 1 })

  clock.advance(HOUR_MS + 10_000)
  await expectStatuses({ delivered: 7, cancelled: 1 })
  expect(mails.at(-1)!.subject).toBe('Summary of notifications (1)')
})
