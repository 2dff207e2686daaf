import { eventually } from '@leadwire/test-kit'
import { PNG } from '../files/samples.fixture'
import { LEAD, type Tenant } from '../stage.fixture'

export const FORM = [
  { name: 'name', value: 'a' },
  { name: 'file', value: PNG, fileName: 'a.png' },
]

export const CSV = `${Object.keys(LEAD).join()}\n${Object.values(LEAD).join()}\n`

export const newUser = ({ send }: Tenant) =>
  send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })

const delivered = ({ client }: Tenant, path: string) =>
  eventually(async () => {
    const { json } = await client.request<{ data: { id: number }[] }>('GET', `${path}?status=delivered`)
    expect(json.data.length).toBeGreaterThan(0)
    return json.data[0]!.id
  })

const entryMaker =
  (kind: string) =>
  async ({ send }: Tenant, lead: string): Promise<number> => {
    const user = await send('POST', '/manage/users', { json: { email: 'e@example.com', name: 'E' } })
    const json = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
    return (await send('POST', `/leads/${lead}/${kind}`, { json })).id
  }

/** Makes what `{id}` stands for, by how the path begins. */
const MAKERS: [prefix: string, make: (tenant: Tenant, reference: string) => Promise<number>][] = [
  ...['appointments', 'callbacks'].map((kind): [string, ReturnType<typeof entryMaker>] => [
    `/leads/{reference}/${kind}/`,
    entryMaker(kind),
  ]),
  [
    '/leads/',
    async ({ send }, lead) => (await send('POST', `/leads/${lead}/attachments`, { multipart: FORM })).id,
  ],
  ['/manage/users/', async (tenant) => (await newUser(tenant)).id],
  ['/manage/tokens/', async ({ newToken }) => (await newToken({})).id],
  [
    '/manage/imports/',
    async ({ send }) =>
      (await send('POST', '/manage/imports', { body: CSV, headers: { 'content-type': 'text/csv' } })).id,
  ],
  ['/manage/webhook-endpoints/', async ({ listen }) => (await listen()).id],
  [
    '/manage/deliveries/',
    async (tenant) => {
      await tenant.listen()
      await tenant.createLead()
      return delivered(tenant, '/manage/deliveries')
    },
  ],
  [
    '/manage/notifications/',
    async (tenant, reference) => {
      const json = { notify: true, user_id: (await newUser(tenant)).id, date: '01/02/2027 10:00' }
      await tenant.send('POST', `/leads/${reference}/callbacks`, { json })
      return delivered(tenant, '/manage/notifications')
    },
  ],
]

/** What the parameters of a path stand for, by their names, made for a tenant. Throws where nobody says how one is made. */
export const identifiersOf = async (path: string, tenant: Tenant): Promise<Record<string, string>> => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const found: Record<string, string> = {}
  if (names.includes('reference') || names.includes('id'))
    found['reference'] = (await tenant.createLead()).reference
  if (names.includes('external_id')) {
    found['external_id'] = 'crm-1017'
    await tenant.send('PUT', '/manage/leads/external/crm-1017', { json: LEAD })
  }
  if (names.includes('file')) {
    const image = await tenant.send('POST', '/manage/images', { multipart: FORM })
    found['file'] = String(image['url']).split('/').pop()!
  }
  if (names.includes('token')) {
    const published = { publishable: true, scopes: undefined, origins: ['https://www.example.com'] }
    found['token'] = (await tenant.newToken(published)).token
  }
  if (names.includes('secret')) {
    const path = `/manage/users/${(await newUser(tenant)).id}/calendar`
    const { url } = await tenant.send<{ url: string }>('POST', path)
    found['secret'] = /[^/]+(?=\.ics$)/.exec(url)![0]
  }
  const [, make] = (names.includes('id') && MAKERS.find(([prefix]) => path.startsWith(prefix))) || []
  if (make) found['id'] = String(await make(tenant, found['reference']!))
  if (names.includes('replay_id')) {
    const path = `/manage/webhook-endpoints/${found['id']}/replay`
    found['replay_id'] = String((await tenant.send('POST', path, { json: { dry_run: true } })).id)
  }
  const unknown = names.filter((name) => found[name] === undefined)
  if (unknown.length > 0) throw new Error(`${path}: nobody says what ${unknown.join(', ')} stands for`)
  return found
}
