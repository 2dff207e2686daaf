import { randomUUID } from 'node:crypto'
import { ATTACHMENT_COLUMNS } from '../../attachments/attachments'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'
import { ENTRY_COLUMNS } from '../../scheduling/schedule'
import { SETTING, selectRecords } from './lead-records'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const BASE_URL = 'https://api.example.test'

const createLead = async (accountId: number): Promise<{ reference: string; id: number }> =>
  readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))[0]

const scene = async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  return { accountId, userId: user!.id, lead: await createLead(accountId) }
}

type Scene = Awaited<ReturnType<typeof scene>>

const entry = ({ accountId, userId, lead }: Scene) => ({
  accountId,
  reference: lead.reference,
  userId,
  notify: false,
  date: '2026-03-28T09:30:00Z',
  idempotency: undefined,
})

const attachment = ({ accountId, lead }: Scene) => ({
  accountId,
  reference: lead.reference,
  baseUrl: BASE_URL,
  idempotency: undefined,
  file: {
    name: 'Survey "A"',
    fileName: 'survey.pdf',
    fileSize: 1234,
    contentType: 'application/pdf',
    key: `attachments/${randomUUID()}.pdf`,
  },
})

type Asked = { accountId: number; reference: string; before?: number | undefined }
type Listed = { items: Uint8Array; nextBefore?: number | undefined }

interface Kind {
  columns: string
  /** The fields, as JSON, that a record has in the list, but not in the response to its creation. */
  more?: string
  add: (on: Scene) => Promise<{ body: Uint8Array }>
  list: (asked: Asked) => Promise<Listed>
}

const KINDS: Record<string, Kind> = {
  appointments: {
    columns: ENTRY_COLUMNS,
    more: ',"cancelled_at":null,"done_at":null,"remind":false',
    add: (on) => service.leads.scheduleAppointment({ appointment: entry(on) }),
    list: (asked) => service.leads.listAppointments(asked),
  },
  callbacks: {
    columns: ENTRY_COLUMNS,
    more: ',"cancelled_at":null,"done_at":null,"remind":false',
    add: (on) => service.leads.scheduleCallback({ callback: entry(on) }),
    list: (asked) => service.leads.listCallbacks(asked),
  },
  attachments: {
    columns: ATTACHMENT_COLUMNS,
    add: (on) => service.attachments.attachFile(attachment(on)),
    list: (asked) => service.attachments.listAttachments({ ...asked, baseUrl: BASE_URL }),
  },
}

describe.each(Object.entries(KINDS))('%s', (table, { columns, more = '', add, list }) => {
  const addJson = async (on: Scene) => {
    const { body } = await add(on)
    return `${/^\{"data":(.*)\}\}$/.exec(body.toString())![1]}${more}}`
  }
  // Adds records one after the other. On a busy machine, hundreds at once could wait so long for a connection
  // that calls exceed their deadline.
  const addMany = async (on: Scene, count: number) => {
    const ids: number[] = []
    while (ids.length < count) ids.push(JSON.parse(await addJson(on)).id)
    return ids
  }
  const listPage = async ({ accountId, lead }: Scene, before?: number) => {
    const { items, nextBefore } = await list({ accountId, reference: lead.reference, before })
    return {
      text: items.toString(),
      ids: JSON.parse(items.toString()).map(({ id }: Scene['lead']) => id),
      nextBefore,
    }
  }

  test('are listed newest first, byte for byte as they were answered with', async () => {
    const on = await scene()
    expect(await listPage(on)).toEqual({ text: '[]', ids: [], nextBefore: undefined })
    const added = [await addJson(on), await addJson(on), await addJson(on)]
    const { text, nextBefore } = await listPage(on)
    expect(text).toBe(`[${added.toReversed().join(',')}]`)
    expect(nextBefore).toBeUndefined()
  })

  test('come a hundred an answer, each of them once', async () => {
    const on = await scene()
    const ids = (await addMany(on, 200)).toSorted((a, b) => b - a)
    const first = await listPage(on)
    expect([first.ids, first.nextBefore]).toEqual([ids.slice(0, 100), ids[99]])
    // A record that is added between two pages belongs before the first page, and must not shift the second.
    await addMany(on, 1)
    const second = await listPage(on, first.nextBefore)
    expect([second.ids, second.nextBefore]).toEqual([ids.slice(100), undefined])
    expect(await listPage(on, ids.at(-1))).toMatchObject({ ids: [], nextBefore: undefined })
  })

  test('are those of one lead alone, and of no lead there are none', async () => {
    const [on, other] = [await scene(), await scene()]
    const sibling = { ...on, lead: await createLead(on.accountId) }
    await addJson(on)
    await addJson(other)
    const own = await addJson(sibling)
    expect((await listPage(sibling)).text).toBe(`[${own}]`)
    const { accountId } = on
    for (const asked of [
      { accountId, reference: other.lead.reference },
      { accountId, reference: randomUUID() },
      { accountId, reference: 'statuses' },
    ])
      await expect(list(asked)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('are one range of the index, however many the account has', async () => {
    const on = await scene()
    await addMany({ ...on, lead: await createLead(on.accountId) }, 150)
    await addMany(on, 120)
    await addMany({ ...on, lead: await createLead(on.accountId) }, 150)
    await service.db.query({ text: `ANALYZE ${table}` })
    const plan = await service.db.transaction(async (tx) => {
      tx.send({ text: SETTING })
      const select = selectRecords(table, columns)
      tx.send({ text: `PREPARE records_of_${table} (bigint, bigint, bigint) AS ${select}` })
      return tx.query<{ 'QUERY PLAN': string }>({
        text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF)
          EXECUTE records_of_${table} (${on.accountId}, ${on.lead.id}, 1000000)`,
      })
    })
    const text = plan.map((row) => row['QUERY PLAN']).join('\n')
    expect(text).toMatch(new RegExp(`Index Scan Backward using ${table}_of_lead`))
    expect(text).not.toMatch(/Sort|Rows Removed/)
  })
})
