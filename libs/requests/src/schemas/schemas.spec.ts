import type { TObject } from '@sinclair/typebox'
import {
  CreateAccount,
  CreateToken,
  CreateUser,
  CreateWebhookEndpoint,
  createChecks,
  DeliveryFilters,
  type ListErrors,
  listReplayErrors,
  listTextErrors,
  listTokenErrors,
  RecoverWebhookEndpoint,
  ReplayWebhookEndpoint,
  RotateWebhookSecret,
  TestWebhookEndpoint,
  UpdateUser,
  UpdateWebhookEndpoint,
} from '../index'

const createCheck = createChecks('Europe/London')

const check = (schema: TObject, fields: Record<string, unknown>, listErrors?: ListErrors) =>
  createCheck(schema, listErrors)({ fields, errors: listTextErrors(fields) })

const fieldsWithErrors = (...args: Parameters<typeof check>) => Object.keys(check(...args).errors ?? {})

const LONG = 'x'.repeat(256)

test('a name is one visible line of up to 255 characters', () => {
  for (const [given, name] of [
    ['A\nB', 'A B'],
    ['A\u202eB', 'AB'],
    [' Kim ', 'Kim'],
    ['🪟'.repeat(255), '🪟'.repeat(255)],
  ])
    expect(check(CreateAccount, { name: given }).value).toEqual({ name })
  for (const name of [' ', '\u200b', '', undefined])
    expect(check(CreateAccount, { name }).errors).toEqual({ name: ['The name field is required.'] })
  expect(fieldsWithErrors(CreateAccount, { name: LONG })).toEqual(['name'])
  expect(fieldsWithErrors(CreateAccount, { name: 'a\0b' })).toEqual(['name'])
})

test('the errors of all fields of a user are listed', () => {
  expect(fieldsWithErrors(CreateUser, { email: 'bad', name: '' })).toEqual(['name', 'email'])
  expect(fieldsWithErrors(UpdateUser, { email: `${LONG}@example.test` })).toEqual(['email'])
  expect(check(UpdateUser, {}).value).toEqual({})
})

describe('an endpoint', () => {
  const url = 'https://crm.example.com/leads'

  test.each<[field: string, value: unknown]>([
    ['url', 'nonsense'],
    ['url', 'ftp://example.com/'],
    ['url', 'http:example.com'],
    ['url', 'https://user@example.com/'],
    ['url', 'https://'],
    ['url', 'https://exam\nple.com/'],
    ['url', 'https://example.com/\u202e'],
    ['url', 'https://example.com/\0'],
    ['url', `https://example.com/${'a'.repeat(2048)}`],
    ['description', LONG],
    ['events', []],
    ['events.0', ['lead.eaten']],
    ['events', ['lead.created', 'lead.created']],
    ['leads', 'dead'],
    ['include.0', ['x']],
    ['secret', 'fifteen bytes..'],
    ['secret', LONG],
    ['secret', 'sixteen\nbytes, 123'],
    ['filter.status.1', { status: ['open', 'asleep'] }],
    ['filter.referrer.0', { referrer: ['Newspaper'] }],
    ['filter.postcode.0', { postcode: ['1AA'] }],
    ['filter.postcode', { postcode: Array.from({ length: 101 }, (_, index) => `M1 ${index}`) }],
    ['filter.user_email.0', { user_email: ['sam'] }],
    ['filter.user_email.0', { user_email: [`${'a'.repeat(250)}@a.example`] }],
  ])('is refused with the %s %j', (field, value) => {
    const [name = ''] = field.split('.')
    const schema = name === 'secret' ? CreateWebhookEndpoint : UpdateWebhookEndpoint
    expect(fieldsWithErrors(schema, { url, [name]: value })).toEqual([field])
  })

  const HOP_BY_HOP = ['Connection', 'Transfer-Encoding', 'Upgrade', 'TE', 'Keep-Alive', 'Trailer']
  const OWN = ['Content-Type', 'content-length', 'HOST', 'User-Agent', 'traceparent', 'Webhook-Anything']
  const MORE = ['webhook-id', 'X-SERVICE-Signature', 'x-service-account-key', 'Proxy-Authorization', 'Expect']

  test.each([
    ...HOP_BY_HOP,
    ...OWN,
    ...MORE,
    'a b',
    'a:',
    'ü',
    '',
    'a\r\nb',
    'a'.repeat(101),
  ])('has no header of the name %j', (name) => {
    const { errors } = check(CreateWebhookEndpoint, { url, headers: { [name]: 'value' } })
    expect(errors).toEqual({ headers: [expect.stringContaining('has a key that is not allowed')] })
  })

  test.each([
    '',
    ' a',
    'a\r\nX-Other: b',
    'ü',
    'a\0',
    'a'.repeat(2049),
    5,
  ])('has no header of the value %j', (value) => {
    expect(fieldsWithErrors(CreateWebhookEndpoint, { url, headers: { 'X-Key': value } })).toEqual([
      'headers.X-Key',
    ])
  })

  test('has ten headers at most, and null keeps the value of one', () => {
    const headers = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`X-${index}`, 'a: b']))
    const kept = { ...headers, 'X-0': null }
    expect(check(UpdateWebhookEndpoint, { headers: kept }).value).toEqual({ headers: kept })
    expect(check(UpdateWebhookEndpoint, { headers: { ...headers, 'X-10': 'a' } }).errors).toEqual({
      headers: ['The headers may not have more than 10 items.'],
    })
  })

  test('has a secret of 16 characters or more', () => {
    expect(check(RotateWebhookSecret, { secret: 'å'.repeat(16) }).value).toEqual({ secret: 'å'.repeat(16) })
  })
})

test('an overlap is at most 30 days', () => {
  for (const overlap of ['0s', '15m', '30d'])
    expect(check(RotateWebhookSecret, { overlap }).value).toEqual({ overlap })
  for (const overlap of ['-1s', '31d', '721h', 'long', '1 day'])
    expect(fieldsWithErrors(RotateWebhookSecret, { overlap })).toEqual(['overlap'])
})

test('a test send, a recovery and a replay are of known words and readable times', () => {
  expect(fieldsWithErrors(TestWebhookEndpoint, { type: 'lead.eaten', lead_reference: 'x' })).toEqual([
    'type',
    'lead_reference',
  ])
  expect(fieldsWithErrors(RecoverWebhookEndpoint, { since: 'yesterday at noon', state: 'held' })).toEqual([
    'since',
    'state',
  ])
  const replay = { after_sequence: -1, until_sequence: 0, from: 'soon', to: '0000-01-01T00:00:00Z' }
  const words = { types: ['lead.lost'], state: 'held' }
  expect(fieldsWithErrors(ReplayWebhookEndpoint, { ...replay, ...words }, listReplayErrors)).toEqual([
    'after_sequence',
    'until_sequence',
    'from',
    'to',
    'types.0',
    'state',
  ])
})

test('a replay ends after it begins', () => {
  const noon = '2026-01-02T12:00:00Z'
  const range = { after_sequence: 5, until_sequence: 5, from: noon, to: '2026-01-02T13:00:00+01:00' }
  expect(check(ReplayWebhookEndpoint, range, listReplayErrors).errors).toEqual({
    until_sequence: ['The until sequence must be greater than the after sequence.'],
    to: ['The field to must be later than the field from.'],
  })
  const later = { ...range, until_sequence: 6, to: '2026-01-02T12:00:01Z' }
  expect(check(ReplayWebhookEndpoint, later, listReplayErrors).value).toEqual(later)
})

test('the filters of deliveries are known words and readable times', () => {
  const times = { from: '2026-03-01', to: '2026-02-30T00:00:00Z' }
  const words = { status: 'nonsense', type: 'lead.lost', error: 'none' }
  const fields = { endpoint_id: 0, lead_reference: 'ab1', ...times, ...words }
  expect(fieldsWithErrors(DeliveryFilters, fields).toSorted()).toEqual(Object.keys(fields).toSorted())
  for (const lead_reference of ['ab12', 'ab123456-12', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'])
    expect(check(DeliveryFilters, { lead_reference }).value).toEqual({ lead_reference })
  expect(fieldsWithErrors(DeliveryFilters, { lead_reference: 'ab12-' })).toEqual(['lead_reference'])
})

describe('a token', () => {
  const origins = ['https://www.example.com']
  const form = { name: 'Form', publishable: true, origins }
  const token = { name: 'CRM', scopes: ['leads'] }

  test.each<[field: string, fields: Record<string, unknown>]>([
    ['scopes', { name: 'CRM' }],
    ['scopes', { name: 'CRM', scopes: [] }],
    ['scopes.0', { name: 'CRM', scopes: ['portal-link'] }],
    ['expires_at', { ...token, expires_at: 'infinity' }],
    ['endpoint_id', { ...token, endpoint_id: 5 }],
    ['endpoint_id', { ...token, scopes: ['webhooks', 'leads'], endpoint_id: 5 }],
    ['endpoint_id', { ...form, endpoint_id: 5 }],
    ['origins', { ...token, origins }],
    ['return_url', { ...token, return_url: 'https://www.example.com/thanks' }],
    ['honeypot', { ...token, honeypot: 'website' }],
    ['origins', { ...form, origins: undefined }],
    ['origins.0', { ...form, origins: ['https://www.example.com/form'] }],
    ['origins.0', { ...form, origins: ['https://*.example.com'] }],
    ['scopes', { ...form, scopes: ['leads'] }],
    ['return_url', { ...form, return_url: 'https://me:word@example.com/' }],
    ['honeypot', { ...form, honeypot: 'email' }],
    ['honeypot', { ...form, honeypot: 'a b' }],
  ])('is refused by its %s: %j', (field, fields) => {
    expect(fieldsWithErrors(CreateToken, fields, listTokenErrors)).toEqual([field])
  })

  test('of one endpoint, and one that stands in public pages, is accepted', () => {
    const endpointToken = { name: 'Receiver', scopes: ['webhooks'], endpoint_id: 5 }
    for (const fields of [token, form, { ...form, honeypot: 'website' }, endpointToken])
      expect(check(CreateToken, fields, listTokenErrors).value).toEqual(fields)
  })
})
