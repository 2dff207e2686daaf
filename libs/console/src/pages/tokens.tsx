import { useState } from 'preact/hooks'
import { api, readData, type Schemas } from '../api'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Boxes, Field, type FieldErrors } from '../parts/form'
import { LAST_MINUTE } from '../parts/format'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { Secret } from '../parts/secret'
import { type Column, Table } from '../parts/table'
import { Ago, Ahead } from '../parts/time'

type Token = Schemas['Token']
type Scope = NonNullable<Schemas['CreateTokenRequest']['scopes']>[number]

const NAMES = [
  'name',
  'scopes',
  'endpoint_id',
  'publishable',
  'origins',
  'return_url',
  'honeypot',
  'expires_at',
  'test',
]

const SCOPES: Record<Scope, string> = {
  leads: 'Create, change and read leads (leads)',
  'leads:read': 'Read leads only (leads:read)',
  'leads:create': 'Create leads only (leads:create)',
  'events:read': 'Read the event log only (events:read)',
  webhooks: 'Manage webhook endpoints and deliveries only (webhooks)',
  'users:read': 'Read users only (users:read)',
  'manage:read': 'Read all pages except leads (manage:read)',
  manage: 'Manage the account: all pages except leads (manage)',
}

const renderFields = (errors: FieldErrors) => (
  <>
    <Field
      name="name"
      label="Name"
      errors={errors}
      help="The purpose of the token. For example: Website form"
    >
      {(attributes) => <input {...attributes} />}
    </Field>
    <Boxes
      name="scopes"
      label="Scopes"
      options={Object.entries(SCOPES)}
      checked={['leads']}
      errors={errors}
    />
    <Field
      name="endpoint_id"
      label="Endpoint"
      errors={errors}
      help="The ID of the only endpoint that the token may use. Leave empty for all endpoints. With an ID, select only the scope webhooks."
    >
      {(attributes) => <input inputMode="numeric" {...attributes} />}
    </Field>
    <Boxes
      name="publishable"
      label="Publishable"
      options={[['true', 'Safe to use in a public page; can only create leads']]}
      checked={[]}
      errors={errors}
    />
    <Field
      name="origins"
      label="Origins"
      errors={errors}
      help="For a publishable token: the origins of its pages, separated by spaces. For example: https://www.example.com"
    >
      {(attributes) => <input {...attributes} />}
    </Field>
    <Field
      name="return_url"
      label="Return address"
      errors={errors}
      help="For a publishable token: the page that visitors see after they have sent a plain form."
    >
      {(attributes) => <input type="url" {...attributes} />}
    </Field>
    <Field
      name="honeypot"
      label="Honeypot"
      errors={errors}
      help="For a publishable token: the name of a hidden form field. A form with a value in this field creates a spam lead."
    >
      {(attributes) => <input {...attributes} />}
    </Field>
    <Field
      name="expires_at"
      label="Expires"
      errors={errors}
      help="Leave empty for a token that never expires."
    >
      {(attributes) => <input type="datetime-local" max={LAST_MINUTE} {...attributes} />}
    </Field>
    <Boxes
      name="test"
      label="Test"
      options={[['true', 'Leads created with this token are test leads']]}
      checked={[]}
      errors={errors}
    />
    <p class="faint">
      A test token is not a sandbox: it marks the leads that it creates as test leads, but can read and change
      live data within its scopes. To try things out without live data, use a second account.
    </p>
  </>
)

const readBody = (fields: FormData) => {
  const expires = String(fields.get('expires_at'))
  const origins = String(fields.get('origins')).split(/\s+/).filter(Boolean)
  return {
    name: String(fields.get('name')),
    // Omits the scopes of a publishable token, whose only scope is fixed.
    scopes: fields.has('publishable') ? undefined : (fields.getAll('scopes') as Scope[]),
    publishable: fields.has('publishable') || undefined,
    origins: origins.length > 0 ? origins : undefined,
    return_url: String(fields.get('return_url')) || undefined,
    honeypot: String(fields.get('honeypot')) || undefined,
    // Sends invalid text as it is, so that the API returns the error.
    endpoint_id: (fields.get('endpoint_id') || undefined) as number | undefined,
    expires_at: expires ? new Date(expires).toISOString() : undefined,
    // Omits the field instead of sending `false`. A user with a test token can create only test tokens, so
    // the API would reject `false` from this user.
    test: fields.has('test') || undefined,
  }
}

const isExpired = ({ expires_at: at }: Token) => at !== null && Date.parse(at) <= Date.now()

const State = ({ token }: { token: Token }) => {
  if (token.revoked_at) return <Badge word="Revoked" tone="calm" />
  if (isExpired(token)) return <Badge word="Expired" tone="calm" />
  if (token.expires_soon) return <Badge word="Expires soon" tone="warn" />
  return <Badge word="Valid" tone="good" />
}

const Expiry = ({ expires_at: at }: Token) => {
  if (!at) return <span class="none">never</span>
  return Date.parse(at) > Date.now() ? <Ahead at={at} /> : <Ago at={at} />
}

const Revoke = ({ token: { id, name }, refresh }: { token: Token; refresh: () => Promise<void> }) => (
  <Action
    label="Revoke"
    quiet
    danger
    run={async () => {
      await api().DELETE('/manage/tokens/{id}', { params: { path: { id } } })
      showNotice(`The token ${name} was revoked.`)
      await refresh()
    }}
    question={{
      title: `Revoke ${name}?`,
      yes: 'Revoke',
      content: (
        <p>
          The token stops working within a second, also for you if you signed in with it. Tokens and portal
          links that were created with it stay valid. This can't be undone.
        </p>
      ),
    }}
  />
)

/** Without `refresh` the table has no actions. */
const makeColumns = (refresh: (() => Promise<void>) | false): Column<Token>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  {
    name: 'State',
    cell: (token) => (
      <span>
        <State token={token} /> {token.test && <Badge word="Test" tone="held" />}
      </span>
    ),
  },
  {
    name: 'Scopes',
    cell: ({ scopes, endpoint_id: endpoint, origins }) => (
      <span class="mono wrap">
        {scopes.join(', ') + (endpoint ? ` of endpoint ${endpoint}` : '')}
        {origins.length > 0 && ` for ${origins.join(', ')}`}
      </span>
    ),
  },
  {
    name: 'Last used',
    cell: ({ last_used_at: at }) => (at ? <Ago at={at} /> : <span class="none">never</span>),
  },
  { name: 'Expires', cell: Expiry },
  {
    name: 'Created',
    cell: ({ created_at, created_by: token, created_by_user: user }) => {
      const creator = user ?? token
      return (
        <span class="wrap">
          <Ago at={created_at} />
          {creator && ` by ${creator.name}`}
        </span>
      )
    },
  },
  ...(refresh
    ? [
        {
          name: 'Actions',
          cell: (token: Token) =>
            token.revoked_at || isExpired(token) ? (
              <span class="none">–</span>
            ) : (
              <Revoke token={token} refresh={refresh} />
            ),
        },
      ]
    : []),
]

/** /tokens: the tokens of the account. */
export const Tokens = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  const { data, problem, refresh } = useLive(String(query), (signal) =>
    readData(api().GET('/manage/tokens', { params: { query: { cursor } }, signal })),
  )
  const [created, setCreated] = useState<Schemas['CreatedToken']>()
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const mayManage = scopes.has('manage')
  const create = async (fields: FormData) => {
    setCreated((await readData(api().POST('/manage/tokens', { body: readBody(fields) }))).data)
    await refresh()
  }
  return (
    <>
      <Title
        title="Tokens"
        actions={
          mayManage && (
            <Action
              label="New token"
              run={create}
              question={{
                title: 'New token',
                yes: 'Create',
                names: NAMES,
                content: renderFields,
              }}
            />
          )
        }
      />
      {created && (
        <Secret
          title={`The token ${created.name} (shown only once)`}
          secret={created.token}
          note="Anyone with this token can use its scopes. It can't be shown again."
          onStored={() => setCreated(undefined)}
        />
      )}
      <Table
        caption="Tokens"
        columns={makeColumns(mayManage && refresh)}
        rows={data.data}
        getKey={({ id }) => id}
      />
      <Pager next={data.next_cursor} names={['First', 'Next']} />
    </>
  )
}
