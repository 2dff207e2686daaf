import { type Migration, migrate } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { migrations } from '../../database/migrations'
import {
  buildQuote,
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  type RunningLeadsService,
  readLeadPage,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

/** How many leads are compared. For a long run, set LEADWIRE_TEST_LEADS to 1000000. */
const LEADS = Number(process.env['LEADWIRE_TEST_LEADS'] ?? 20_000)
/** How many leads one statement inserts. PostgreSQL ends a statement of the service after 8 s. */
const BATCH = 2000

let service: RunningLeadsService

beforeAll(async () => {
  // Has a connection for each of the requests that are sent during a migration, so that none waits for one.
  service = await startLeadsService({}, { otherFormat: 9999, poolSize: 12 })
})
afterAll(() => service.stop())

const create = async (accountId: number, over: Parameters<typeof newLead>[0] = {}) => {
  const { results } = await service.leads.createLeads({
    leads: [newItem(accountId, { lead: newLead(over) })],
  })
  return { response: String(results[0]!.result!.value), ...readOutcomes({ results })[0] }
}

type Leads = RunningLeadsService['leads']

const retrieve = async (leads: Leads, accountId: number, reference: string) =>
  String((await leads.retrieveLeads({ leads: [{ accountId, reference }] })).results[0]!.result!.value)

const list = async (leads: Leads, accountId: number) =>
  String(readLeadPage((await leads.listLeads({ pages: [{ accountId, page: 1 }] })).results[0]!).items)

test('what was made in another format is rendered from its columns, byte for byte the same', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId, { alt: 'a window' })
  const quotes = [
    buildQuote(
      itemWith(image, { margin: 0.1, tax: 20, options: '{"10":1.50,"2":"b"}' }),
      itemWith(image, { name: 'Zwölf "Fenster"' }),
    ),
    buildQuote(),
    buildQuote(itemWith(image)),
  ]
  const whole = await create(accountId, { quotes, description: 'A\nbay', mobile: '07700 900123' })
  const test = await create(accountId, { status: 'test' })
  for (const { reference, response } of [whole, test])
    for (const leads of [service.leads, service.otherLeads])
      expect(await retrieve(leads, accountId, reference)).toBe(response)
  expect(await list(service.otherLeads, accountId)).toBe(await list(service.leads, accountId))
})

test('a lead of another format that is asked for twice at once is the same both times', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId)
  const { reference, response } = await create(accountId, { quotes: [buildQuote(itemWith(image))] })
  const asked = { accountId, reference }
  const { results } = await service.otherLeads.retrieveLeads({ leads: [asked, asked] })
  expect(results.map(({ result }) => String(result!.value))).toEqual([response, response])
})

test('services of two formats have each a tag of their own, and take the other one’s for a change', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await create(accountId)
  const readTag = async (leads: Leads) =>
    (await leads.retrieveLeads({ leads: [{ accountId, reference }] })).results[0]!.etag!
  const [tag, other] = [await readTag(service.leads), await readTag(service.otherLeads)]
  expect(other).not.toBe(tag)
  const { etag } = await service.leads.updateLead({
    accountId,
    reference,
    value: 1,
    ifMatch: { etags: [other] },
  })
  expect([await readTag(service.leads), await readTag(service.otherLeads)]).toEqual([
    etag,
    other.replace('"1-', '"2-'),
  ])
})

test('a change moves the version, and is seen by services of both formats', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await create(accountId)
  const update = async (leads: Leads, value: number) => {
    const { body } = await leads.updateLead({ accountId, reference, value, notify: false })
    for (const reader of [service.leads, service.otherLeads]) {
      expect(await retrieve(reader, accountId, reference)).toBe(body.toString())
      expect(await list(reader, accountId)).toContain(`"value":${value},`)
    }
  }
  await update(service.leads, 100)
  await update(service.otherLeads, 200)
  await update(service.otherLeads, 200)
  const [row] = await service.db.query<{ version: number }>({
    text: 'SELECT version FROM leads WHERE reference = $1',
    values: [reference],
  })
  expect(row!.version).toBe(3)
})

test('a field is added to a table in use, which is not rewritten, and no request fails', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await create(accountId)
  for (let first = 1; first <= LEADS; first += BATCH)
    await service.db.query({
      text: `INSERT INTO leads SELECT made.* FROM leads model, generate_series(${first}, ${first + BATCH - 1}) n,
      LATERAL jsonb_populate_record(NULL::leads, to_jsonb(model) || jsonb_build_object(
        'id', nextval('leads_id_seq'), 'number', 1 + n, 'reference', gen_random_uuid())) made
      WHERE model.reference = '${reference}'`,
    })
  await service.db.query({ text: `UPDATE accounts SET lead_count = 1 + ${LEADS} WHERE id = ${accountId}` })
  const file = async () =>
    (await service.db.query({ text: `SELECT pg_relation_filenode('leads') AS file` }))[0]
  const before = await file()

  let migrating = true
  const requests = Array.from({ length: 8 }, async (_, index) => {
    let answered = 0
    while (migrating || answered === 0) {
      const leads = index % 2 ? service.leads : service.otherLeads
      expect(await retrieve(leads, accountId, reference)).toContain(reference)
      expect(await list(leads, accountId)).toContain('"reference"')
      expect((await create(accountId)).failure).toBeUndefined()
      answered += 1
    }
  })
  const withField: Migration[] = [
    ...migrations,
    {
      name: '9999-add-a-field',
      up: async (knex) =>
        void (await knex.raw("ALTER TABLE leads ADD COLUMN added_by_a_spec text DEFAULT 'x'")),
    },
  ]
  // Retries like a service that starts: a step fails if it does not get the lock on the table within 500 ms.
  await eventually(() => migrate(service.database.url, withField))
  migrating = false
  await Promise.all(requests)
  expect(await file()).toEqual(before)
}, 600_000)
