import { leadJsonFormat } from '@leadwire/contracts'
import { migrate } from '@leadwire/service-kit'
import { type System, startSystem } from '@leadwire/test-kit'
import { openSql, runFill, type Sql } from './index'

const LEAD = {
  ...{ name: 'Bay window', first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' },
  ...{ phone: '020 7946 0123', postcode: 'SW1A 1AA', referrer: 'Website', status: 'open' },
}
// What is asserted does not depend on it; more of them show the time it takes: with 1,000,000 the fill takes minutes.
const LEADS = Number(process.env['LEADWIRE_NEW_FIELD_LEADS'] ?? 20_000)
// Images of another address are another JSON format, as those of a release with another field are.
const NEW_ASSETS_URL = 'http://new.example/assets'

interface Quoted {
  data: { quotes: { items: { image: { url: string } }[] }[] }
}

interface Page {
  total: number
  data: { reference: string }[]
}

let system: System
let leads: Sql
let oldAssetsUrl: string

beforeAll(async () => {
  system = await startSystem({ replicas: 2 })
  leads = openSql(system.databases.leads.url)
  oldAssetsUrl = system.services[0]!.env['ASSETS_URL']!
})

afterAll(async () => {
  await leads?.close()
  await system?.stop()
})

const send = async <T>(path: string, body?: object): Promise<T> => {
  const answer = await fetch(`${system.baseUrl}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status} ${text}`)
  return JSON.parse(text)
}

const fill = (...args: unknown[]) =>
  runFill(args.map(String), { leads, webhooks: leads, assetsUrl: oldAssetsUrl })

const addColumn = (): Promise<void> =>
  migrate(system.databases.leads.url, [
    {
      name: '9999-new-field',
      up: async (knex) => void (await knex.raw('ALTER TABLE leads ADD colour text')),
    },
  ])

/** Restarts the copies of leads-service, one after the other, with a new JSON format. */
const roll = async () => {
  for (const plan of system.services.filter(({ service }) => service === 'leads-service')) {
    plan.env['ASSETS_URL'] = NEW_ASSETS_URL
    await system.restart(plan.name)
  }
}

/** Lists, retrieves and creates leads until `work` is done. Resolves with how many were created; any request that fails rejects. */
const serving = async (work: () => Promise<void>): Promise<number> => {
  let done = false
  let created = 0
  const loops = Array.from({ length: 4 }, async () => {
    while (!done) {
      const { data } = await send<Page>(`/leads?page=${1 + Math.floor(Math.random() * (LEADS / 20))}`)
      await send(`/leads/${data[0]!.reference}`)
      await send('/leads', LEAD)
      created += 1
    }
  })
  const working = work().finally(() => {
    done = true
  })
  await Promise.all([working, ...loops])
  return created
}

/** The file of the table, which a rewrite replaces, and how many leads have each JSON format. */
const storedLeads = async () => {
  const [table] = await leads.rows<{ file: number }>(`SELECT pg_relation_filenode('leads')::int AS file`)
  const formats = await leads.rows<{ json_format: number; count: number }>(
    'SELECT json_format, count(*)::int FROM leads GROUP BY json_format',
  )
  const count = (assetsUrl: string) =>
    formats.find(({ json_format }) => json_format === leadJsonFormat(assetsUrl))?.count ?? 0
  return { ...table, old: count(oldAssetsUrl), new: count(NEW_ASSETS_URL) }
}

test('a release with one more field in the JSON of leads rewrites none, while requests are served', async () => {
  await fill('--account', system.account.id, '--leads', LEADS)
  await fill('--account', system.account.id, '--leads', 1, '--quotes')
  const { data: filled } = await send<Page>('/leads')
  const quoted = `/leads/${filled[0]!.reference}`
  const urlOf = async () => (await send<Quoted>(quoted)).data.quotes[0]!.items[0]!.image.url
  expect(await urlOf()).toContain(oldAssetsUrl)
  const before = await storedLeads()
  expect(before).toMatchObject({ old: LEADS + 1, new: 0 })

  const created = await serving(async () => {
    await addColumn()
    await roll()
  })

  expect(await urlOf()).toContain(NEW_ASSETS_URL)
  const after = await storedLeads()
  expect(created).toBeGreaterThan(0)
  expect(after.file).toBe(before.file)
  expect(after.old).toBeGreaterThanOrEqual(before.old)
  expect(after.old + after.new).toBe(before.old + created)
}, 900_000)
