import { createHash } from 'node:crypto'
import { createImports } from '../support/imports'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

// Characters that would add a line to an e-mail, clear a terminal, or reverse the direction of text.
const GIVEN = 'By\r\nron\u2028Phone:\u00850900\u2029\t1\x1b[2J\x07\x9b \u202eA\u2066d\u200fa\u061c'
const KEPT = 'By ron Phone: 0900 1[2J Ada'
const TEXT = 'One\nTwo\r\n\tThree\x1b\x85'
const TEXT_KEPT = 'One\nTwo\r\n\tThree'
const INVISIBLE = '\u200b\u00ad\u2060 \u202e\ufeff\u3164\u2800\x1b'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage?.stop())

type Sent = { name: unknown; [field: string]: unknown }

const FIELDS = {
  ...LEAD,
  name: GIVEN,
  first_name: GIVEN,
  last_name: GIVEN,
  company_name: GIVEN,
  phone: '\u202a+44 7700\n900123\u202c',
  mobile: '07700\t900124',
  email: '\u2068ada@example.com\u2069',
  postcode: '\u200fSW1A\n1AA',
}
const SHOWN = {
  name: KEPT,
  postcode: 'SW1A 1AA',
  customer: {
    first_name: KEPT,
    last_name: KEPT,
    name: `${KEPT} ${KEPT}`,
    company_name: KEPT,
    phone: '+44 7700 900123',
    phone_link: 'tel:+447700900123',
    mobile: '07700 900124',
    email: 'ada@example.com',
  },
}
const QUOTES = [
  {
    status: GIVEN,
    items: [
      {
        product_style_id: 1,
        name: GIVEN,
        price: 1,
        format: GIVEN,
        status: GIVEN,
        image_id: 0,
        product_style: { sku: GIVEN, name: GIVEN, product: { name: GIVEN } },
      },
    ],
  },
]

const newImage = () =>
  tenant.send<Sent & { id: number }>('POST', '/manage/images', {
    multipart: [
      { name: 'name', value: GIVEN },
      { name: 'alt', value: GIVEN },
      { name: 'file', value: Buffer.from('89504e470d0a1a0a', 'hex'), fileName: 'a\u202e\x1b.png' },
    ],
  })

const imported = async (type: string, file: string): Promise<Lead> => {
  const other = await stage.newTenant()
  const imports = createImports(other)
  expect(await imports.run(file, { type })).toMatchObject({ rows_created: 1, rows_failed: 0 })
  return (await imports.leads())[0]!
}

const cell = (value: string) => `"${value.replaceAll('"', '""')}"`

const user = (email: string) =>
  tenant.send<Sent & { id: number }>('POST', '/manage/users', { json: { email, name: GIVEN } })

test.each<[what: string, send: () => Promise<object>, kept: object]>([
  [
    'JSON',
    () => tenant.createLead(FIELDS).then(({ reference }) => tenant.send('GET', `/leads/${reference}`)),
    SHOWN,
  ],
  ['a form', () => tenant.send('POST', '/leads', { form: FIELDS }), SHOWN],
  [
    'a visitor lead',
    async () => {
      const { id } = await newImage()
      const quotes = [{ ...QUOTES[0], items: [{ ...QUOTES[0]!.items[0], image_id: id }] }]
      const json = { ...FIELDS, description: TEXT, user_agent: GIVEN, referrer_url: GIVEN, quotes }
      return tenant.send('POST', '/manage/leads', { json })
    },
    {
      ...SHOWN,
      description: TEXT_KEPT,
      user_agent: KEPT,
      referrer_url: KEPT,
      quotes: [
        {
          status: KEPT,
          items: [
            {
              name: KEPT,
              format: KEPT,
              status: KEPT,
              product_style: { sku: KEPT, name: KEPT, product: { name: KEPT } },
            },
          ],
        },
      ],
    },
  ],
  [
    'NDJSON',
    () => imported('application/x-ndjson', `${JSON.stringify({ ...FIELDS, description: TEXT })}\n`),
    { ...SHOWN, description: TEXT_KEPT },
  ],
  [
    // The file omits control characters, because a CSV file must not contain them.
    'CSV',
    () => {
      const clean = Object.values(FIELDS).map((value) => cell(value.replace(/(?![\t\r\n])\p{Cc}/gu, '')))
      return imported('text/csv', `${Object.keys(FIELDS).join(',')}\n${clean.join(',')}\n`)
    },
    { customer: { last_name: 'By ron Phone:0900 1[2J Ada', phone_link: 'tel:+447700900123' } },
  ],
  ['a user', () => user('sam@example.com'), { name: KEPT }],
  [
    'a change of a user',
    async () => {
      const { id } = await user('kim@example.com')
      return tenant.send('PATCH', `/manage/users/${id}`, { json: { name: `Kim\n${GIVEN}` } })
    },
    { name: `Kim ${KEPT}` },
  ],
  ['a token', () => tenant.newToken({ name: GIVEN }), { name: KEPT }],
  ['an image', newImage, { name: KEPT, alt: KEPT, file_name: 'a.png' }],
  [
    'an attachment',
    async () => {
      const { reference } = await tenant.createLead()
      return tenant.send('POST', `/leads/${reference}/attachments`, {
        multipart: [
          { name: 'name', value: GIVEN },
          { name: 'file', value: 'text', fileName: 'invoice\u202e\x1bfdp.txt' },
        ],
      })
    },
    { name: KEPT, file_name: 'invoicefdp.txt' },
  ],
])('%s: single-line fields stay on one line', async (_what, send, kept) => {
  expect(await send()).toMatchObject(kept)
})

test('the description of an endpoint stays on one line', async () => {
  const { id } = await tenant.listen({ description: GIVEN, enabled: false })
  const path = `/manage/webhook-endpoints/${id}`
  expect(await tenant.send('GET', path)).toMatchObject({ description: KEPT })
  expect(await tenant.send('PATCH', path, { json: { description: `CRM\n${GIVEN}` } })).toMatchObject({
    description: `CRM ${KEPT}`,
  })
  expect(await tenant.send('PATCH', path, { json: { description: INVISIBLE } })).toMatchObject({
    description: null,
  })
})

test('a value of invisible characters counts as empty', async () => {
  const { status, json } = await tenant.client.request<{ errors: object }>('POST', '/leads', {
    json: Object.fromEntries(Object.keys(LEAD).map((field) => [field, INVISIBLE])),
  })
  expect([status, Object.keys(json.errors).sort()]).toEqual([422, Object.keys(LEAD).sort()])
  expect(await tenant.createLead({ company_name: INVISIBLE, mobile: INVISIBLE })).toMatchObject({
    customer: { company_name: null, mobile: null, mobile_link: null },
  })
})

test('joiners, emoji and right-to-left text are kept', async () => {
  const name = '👩\u200d👧 ❤\ufe0f می\u200cخواهم שלום'
  expect(await tenant.createLead({ name })).toMatchObject({ name })
})

test('a secret with a control character is refused, because secrets are never changed', async () => {
  const secret = createHash('sha256').update('secret').digest('hex')
  const json = { url: 'https://crm.example.com/', secret: `${secret}\n${secret}` }
  expect((await tenant.client.request('POST', '/manage/webhook-endpoints', { json })).status).toBe(422)
})
