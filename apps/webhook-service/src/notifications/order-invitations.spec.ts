import { eventually } from '@leadwire/test-kit'
import { reply } from './mail-server.fixture'
import { notification, startMailing } from './notifications.fixture'

const { running, start, publish, list } = startMailing()

const invitation = () => notification({ requestedAt: '2026-06-01T08:00:00.000001Z' })

/** Builds a later message of an invitation. */
const later = ({ eventId, leadReference }: ReturnType<typeof notification>, sequence: number, change = {}) =>
  notification({
    leadReference,
    invitationId: eventId,
    sequence,
    requestedAt: `2026-06-01T08:00:0${sequence}.000001Z`,
    ...change,
  })

const makeDue = () =>
  running.doors.rows(
    `UPDATE notifications.deliveries SET next_attempt_at = now()
     WHERE status = 'pending' AND attempt_count = 1 RETURNING id`,
  )

const statuses = async () =>
  Object.fromEntries((await list()).map(({ delivery }) => [delivery!.eventId, delivery!.status]))

test('a waiting message is cancelled when a later message of its invitation to the same user is stored', async () => {
  let refusals = 2
  const { mails } = await start({
    onContent: () => (refusals-- > 0 ? reply(451, 'Come back') : undefined),
  })
  const [stale, of] = [invitation(), invitation()]
  await publish(stale, of)
  await eventually(async () =>
    expect((await list()).map(({ delivery }) => delivery!.attemptCount)).toEqual([1, 1]),
  )
  const cancelled = later(stale, 1, { subject: 'appointment.cancelled' })
  const { leadReference } = stale
  const others = [
    // A message to another user.
    later(of, 1, { userId: 6 }),
    // Other messages about the same lead.
    notification({ leadReference, subject: 'assigned', date: undefined }),
    notification({ leadReference, subject: 'callback' }),
    // A reminder of the same appointment.
    notification({ leadReference, subject: 'appointment.due' }),
  ]
  await publish(cancelled, ...others)
  await eventually(() => expect(mails).toHaveLength(5))
  expect(await makeDue()).toHaveLength(2)
  await eventually(async () =>
    expect(await statuses()).toEqual({
      [stale.eventId]: 'cancelled',
      [cancelled.eventId]: 'delivered',
      [of.eventId]: 'delivered',
      ...Object.fromEntries(others.map(({ eventId }) => [eventId, 'delivered'])),
    }),
  )
  expect(mails).toHaveLength(6)
  const { delivery } = (await list()).find((each) => each.delivery!.eventId === stale.eventId)!
  expect(delivery).toMatchObject({ status: 'cancelled', attemptCount: 1, nextAttemptAt: undefined })

  // A manual attempt does not send the cancelled message either.
  await running.service.client.retryNotification({ accountId: 1, notificationId: delivery!.id })
  await eventually(async () =>
    expect(
      await running.doors.rows(
        'SELECT FROM notifications.deliveries WHERE manual_at IS NOT NULL OR claim IS NOT NULL',
      ),
    ).toEqual([]),
  )
  expect(mails).toHaveLength(6)
})

test('a message waits for an earlier message of its invitation, and delays no other message', async () => {
  const held: (() => void)[] = []
  let begun = 0
  const { mails } = await start(
    {
      onMailFrom: (_address, _session, done) => {
        begun += 1
        if (begun === 1) held.push(done)
        else done()
      },
    },
    { SMTP_TIMEOUT: 60_000 },
  )
  const first = invitation()
  await publish(first)
  await eventually(() => expect(begun).toBe(1))
  const moved = later(first, 1, { subject: 'appointment.rescheduled' })
  await publish(moved)
  await eventually(async () => expect(await list()).toHaveLength(2))
  await publish(notification(), notification())
  await eventually(() => expect(mails).toHaveLength(2))
  expect(begun).toBe(3)
  for (const go of held) go()
  await eventually(() => expect(mails).toHaveLength(4))
  expect(mails.slice(2).map(({ messageId }) => messageId)).toEqual(
    [first, moved].map(({ eventId }) => `<${eventId}@example.com>`),
  )
  const found = await eventually(async () => {
    const all = await list()
    expect(all.map(({ delivery }) => delivery!.status)).toEqual(Array(4).fill('delivered'))
    return all
  })
  expect(found.map(({ delivery }) => delivery!.attemptCount)).toEqual([1, 1, 1, 1])
})

test('after several quick changes, the last message shows the last change', async () => {
  const { mails } = await start({
    onMailFrom: (_address, _session, done) => void setTimeout(done, Math.random() * 50),
  })
  const events = Array.from({ length: 10 }, (_, index) => {
    const accountId = index + 1
    const first = notification({ ...invitation(), accountId })
    const changes = [1, 2].map((sequence) => later(first, sequence, { accountId }))
    return [first, ...changes, later(first, 3, { accountId, subject: 'appointment.cancelled' })]
  })
  await publish(...events.flat())
  await eventually(async () =>
    expect(
      await running.doors.rows(
        `SELECT FROM notifications.deliveries WHERE status IN ('delivered', 'cancelled')`,
      ),
    ).toHaveLength(40),
  )
  for (const ofOne of events) {
    const places = ofOne.map(({ eventId }) =>
      mails.findIndex(({ messageId }) => messageId?.includes(eventId)),
    )
    const sent = places.filter((place) => place >= 0)
    expect(sent).toEqual(sent.toSorted((one, other) => one - other))
    expect(places.at(-1)).toBeGreaterThanOrEqual(0)
  }
})
