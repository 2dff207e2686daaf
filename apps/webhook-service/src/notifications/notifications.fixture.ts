import { randomUUID } from 'node:crypto'
import { LEADS_STREAM, NotificationRequested, signInLinkContext } from '@leadwire/contracts'
import { createSealer } from '@leadwire/service-kit'
import { eventually, startNats, type TestNats } from '@leadwire/test-kit'
import { jetstream } from '@nats-io/jetstream'
import { openDoors, SETTINGS, startService } from '../service.fixture'
import { type MailServer, startMailServer } from './mail-server.fixture'

export const notification = (change: object = {}) =>
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

/** The link of the notifications that `signIn` builds. Its secret looks like the secret of a token. */
export const LINK = 'https://console.example.com/#sign-in=lw_live_YqJ3v0nPZt8RkMx5cWb2LdHs7fGa1UeQo4Ti6KyNB9w'

/** Builds a notification with the link `LINK`, which the first of `keys` encrypts. */
export const signIn = (change: object = {}, keys: Buffer[] = SETTINGS.ENCRYPTION_KEYS) => {
  const eventId = randomUUID()
  return NotificationRequested.fromPartial({
    eventId,
    accountId: 1,
    accountName: 'Bay & Sons',
    subject: 'sign_in',
    userId: 5,
    userEmail: 'sam@example.com',
    userName: 'Sam',
    requestedAt: '2026-06-24T13:15:00.123456Z',
    sealedLink: createSealer(keys).seal(LINK, signInLinkContext(eventId)),
    linkExpiresAt: '2026-06-24T13:30:00.123456Z',
    ...change,
  })
}

type Settings = NonNullable<Parameters<typeof startService>[1]>

/** Sets up the specs of notifications: each test has its own service and mail servers. */
export const startMailing = () => {
  const servers: MailServer[] = []
  const running = {} as {
    doors: Awaited<ReturnType<typeof openDoors>>
    service: Awaited<ReturnType<typeof startService>>
  }
  let nats: TestNats
  beforeAll(async () => {
    nats = await startNats()
  })
  afterAll(() => nats.stop())
  beforeEach(async () => {
    running.doors = await openDoors({ nats })
  })
  afterEach(async () => {
    await running.service.stop()
    await Promise.all(servers.splice(0).map((server) => server.stop()))
    await running.doors.close()
  })

  const boot = async (config: Settings): Promise<void> => {
    running.service = await startService(running.doors, config)
  }
  const start = async (
    settings: Parameters<typeof startMailServer>[0] = {},
    config: Settings = {},
  ): Promise<MailServer> => {
    const server = await startMailServer(settings)
    servers.push(server)
    await boot({ SMTP_URL: server.target, ...config })
    return server
  }
  const publish = async (...events: NotificationRequested[]) => {
    const stream = jetstream(running.doors.connection)
    for (const event of events)
      await eventually(() =>
        stream.publish(LEADS_STREAM.subjects.notifications, NotificationRequested.encode(event).finish()),
      )
  }
  const list = async (accountId = 1) =>
    (await running.service.client.listNotifications({ accountId, page: 1 })).notifications
  const ended = (count = 1) =>
    eventually(async () => {
      const found = await list()
      expect(found).toHaveLength(count)
      for (const { delivery } of found) expect(['delivered', 'exhausted']).toContain(delivery!.status)
      return found
    })
  const retrieve = async () => {
    const [newest] = await ended()
    return running.service.client.retrieveNotification({
      accountId: 1,
      notificationId: newest!.delivery!.id,
    })
  }
  return { running, servers, boot, start, publish, list, ended, retrieve }
}
