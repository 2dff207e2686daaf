import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Boxes, Field, type FieldErrors } from '../parts/form'
import { LAST_MINUTE } from '../parts/format'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Failure, Loading, Title } from '../parts/page'
import { Secret } from '../parts/secret'
import { type Column, Table } from '../parts/table'
import { Ago, Ahead } from '../parts/time'

type Token = Schemas['Token']
type Scope = NonNullable<Schemas['CreateTokenRequest']['scopes']>[number]

const SCOPES: Record<Scope, string> = {
  leads: 'Create, change and read leads (leads)',
  'leads:read': 'Read leads only (leads:read)',
  'leads:create': 'Create leads only (leads:create)',
  'events:read': 'Read the log of events only (events:read)',
  webhooks: 'Manage webhook endpoints and deliveries only (webhooks)',
  'manage:read': 'Read all pages but leads (manage:read)',
  manage: 'Manage the account: all pages but leads (manage)',
}

const formOf = (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors} help="What the token is for, such as Website form.">
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
      help="With the scope webhooks alone: the number of the one endpoint that it sees. Empty: all."
    >
      {(attributes) => <input inputMode="numeric" {...attributes} />}
    </Field>
    <Boxes
      name="publishable"
      label="In a public page"
      options={[['true', 'it may stand there, to create leads alone (publishable)']]}
      checked={[]}
      errors={errors}
    />
    <Field
      name="origins"
      label="Origins"
      errors={errors}
      help="Of a publishable token: the pages it is for, such as https://www.example.com, separated by spaces."
    >
      {(attributes) => <input {...attributes} />}
    </Field>
    <Field
      name="return_url"
      label="Return address"
      errors={errors}
      help="Of a publishable token: where people are sent back to from a plain form."
    >
      {(attributes) => <input type="url" {...attributes} />}
    </Field>
    <Field
      name="honeypot"
      label="Honeypot"
      errors={errors}
      help="Of a publishable token: a form field that people don't see. Leads that fill it in are spam."
    >
      {(attributes) => <input {...attributes} />}
    </Field>
    <Field name="expires_at" label="Expires" errors={errors} help="Empty: never.">
      {(attributes) => <input type="datetime-local" max={LAST_MINUTE} {...attributes} />}
    </Field>
    <Boxes
      name="test"
      label="Leads made with it"
      options={[['true', 'are test leads']]}
      checked={[]}
      errors={errors}
    />
  </>
)

const bodyOf = (fields: FormData) => {
  const expires = String(fields.get('expires_at'))
  const origins = String(fields.get('origins')).split(/\s+/).filter(Boolean)
  return {
    name: String(fields.get('name')),
    // A publishable token has a scope of its own.
    scopes: fields.has('publishable') ? undefined : (fields.getAll('scopes') as Scope[]),
    publishable: fields.has('publishable') || undefined,
    origins: origins.length > 0 ? origins : undefined,
    return_url: String(fields.get('return_url')) || undefined,
    honeypot: String(fields.get('honeypot')) || undefined,
    // Text that is no number is left to the API to refuse.
    endpoint_id: (fields.get('endpoint_id') || undefined) as number | undefined,
    expires_at: expires ? new Date(expires).toISOString() : undefined,
    // A test token makes test tokens by default, and false is refused.
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
      say(`The token ${name} was revoked.`)
      await refresh()
    }}
    question={{
      title: `Revoke ${name}?`,
      yes: 'Revoke',
      content: (
        <p>
          Programs that use this token are refused within a second, and so are you if you signed in with it.
          It can't be undone.
        </p>
      ),
    }}
  />
)

const columnsOf = (refresh: () => Promise<void>): Column<Token>[] => [
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
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    name: 'Actions',
    cell: (token) =>
      token.revoked_at || isExpired(token) ? (
        <span class="none">–</span>
      ) : (
        <Revoke token={token} refresh={refresh} />
      ),
  },
]

/** /tokens: what programs and people use the API with. */
export const Tokens = () => {
  const { data, problem, refresh } = useLive('tokens', (signal) =>
    dataOf(api().GET('/manage/tokens', { signal })),
  )
  const [created, setCreated] = useState<Schemas['CreatedToken']>()
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const create = async (fields: FormData) => {
    setCreated((await dataOf(api().POST('/manage/tokens', { body: bodyOf(fields) }))).data)
    await refresh()
  }
  return (
    <>
      <Title
        title="Tokens"
        actions={
          <Action
            label="New token"
            run={create}
            question={{
              title: 'New token',
              yes: 'Create',
              names: [
                ...['name', 'scopes', 'endpoint_id', 'publishable', 'origins', 'return_url', 'honeypot'],
                ...['expires_at', 'test'],
              ],
              content: formOf,
            }}
          />
        }
      />
      {created && (
        <Secret
          title={`The token ${created.name}, shown only now`}
          secret={created.token}
          note="Anyone with this token can use its scopes. It can't be shown again."
          onStored={() => setCreated(undefined)}
        />
      )}
      <Table caption="Tokens" columns={columnsOf(refresh)} rows={data.data} keyOf={({ id }) => id} />
    </>
  )
}
