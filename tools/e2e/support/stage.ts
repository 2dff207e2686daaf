import {
  joinSystem,
  type Receiver,
  type SharedSystem,
  type System,
  type SystemOptions,
  startReceiver,
  startSystem,
} from '@leadwire/test-kit'
import { type Client, createClient, type RequestOptions } from './client'
import { remoteSystem } from './remote-system'

/** The required fields of a lead. */
export const LEAD = {
  name: 'Bay window',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

export type Lead = {
  id: number
  reference: string
  created_at: string
  updated_at: string
  [field: string]: unknown
}

/** An account on a stage, with a client that sends its token. */
export type Tenant = {
  account: { id: number; api_key: string }
  token: string
  client: Client
  /** Sends a request and returns its `data`. Throws unless it succeeds. */
  send<T = Lead>(method: string, path: string, options?: RequestOptions): Promise<T>
  createLead(change?: object): Promise<Lead>
  newToken(fields: object): Promise<{ id: number; token: string }>
  /** Creates a user with a role. */
  newUser(role: string, fields?: object): Promise<{ id: number; email: string }>
  /** Returns the secret of a new sign-in link. */
  newSignInLink(userId: number): Promise<string>
  /** Signs a user in. Returns the Cookie header of the session. */
  signIn(userId: number): Promise<string>
  /** Starts a receiver and registers it as an endpoint of the account. */
  listen(fields?: object): Promise<{ receiver: Receiver; id: number; secret: string }>
}

/**
 * A whole system on which specs create accounts. Specs that share a stage do not see each other's leads. If
 * LEADWIRE_E2E_URL is set, the stage is the running system at this URL. Receivers then listen on
 * LEADWIRE_E2E_RECEIVER_HOST, which the running system must be able to reach.
 */
export type Stage<Of extends SharedSystem = System> = {
  system: Of
  newTenant(): Promise<Tenant>
  stop(): Promise<void>
}

export type SharedStage = Stage<SharedSystem>

/** Reads the setting when a stage starts, because pods.spec.ts sets it after this module has been loaded. */
const remote = () => process.env['LEADWIRE_E2E_URL']

/** Starts a separate system for a spec file. */
export const startStage = async (options: SystemOptions = {}): Promise<Stage> => {
  const url = remote()
  return createStage(await (url ? remoteSystem(url, options) : startSystem(options)))
}

/** Joins the system that all spec files with the same settings share. */
export const joinStage = async (options: Pick<SystemOptions, 'env'> = {}): Promise<SharedStage> => {
  const url = remote()
  return createStage(await (url ? remoteSystem(url, options) : joinSystem(options)))
}

function createStage<Of extends SharedSystem>(system: Of): Stage<Of> {
  const closing: (() => Promise<unknown>)[] = []
  return {
    system,
    newTenant: async () => {
      const { account, token } = await system.createAccount('Spec')
      const client = createClient(system.baseUrl, { token })
      closing.push(() => client.close())
      const onReceiver = (receiver: Receiver) => closing.push(() => receiver.stop())
      const { createSignInLink } = system
      return tenant({ account, token, client, createSignInLink, onReceiver })
    },
    stop: async () => {
      await Promise.all(closing.map((close) => close()))
      await system.stop()
    },
  }
}

/** Appends to each response the log lines of its request, if the response contains the id of the request. */
export const explain = (system: System, answers: string[]): string[] => {
  const lines = answers.length === 0 ? [] : system.logs().map((line) => JSON.stringify(line))
  return answers.flatMap((answer) => {
    const id = /"request_id\\?":\\?"([^"\\]+)/.exec(answer)?.[1]
    return [answer, ...lines.filter((line) => id !== undefined && line.includes(id))]
  })
}

/** Returns the Cookie header for the cookie that a response has set. */
export const readCookie = (setCookie: string | string[] | undefined): string =>
  [setCookie].flat()[0]!.split(';')[0]!

const refuseSignIn = () => {
  throw new Error('this system has no sign-in links')
}

/** Creates the tenant of an account. All its functions use `client`. */
export function tenant({
  account,
  token,
  client,
  createSignInLink = refuseSignIn,
  onReceiver,
}: {
  account: Tenant['account']
  token: string
  client: Client
  createSignInLink?: System['createSignInLink']
  onReceiver: (receiver: Receiver) => void
}): Tenant {
  const send = async <T>(method: string, path: string, options?: RequestOptions) => {
    const answer = await client.request<{ data: T }>(method, path, options)
    if (answer.status !== 200 && answer.status !== 202)
      throw new Error(`the response to ${method} ${path} was ${answer.status}: ${answer.text}`)
    return answer.json.data
  }
  const listen = async (fields: object = {}) => {
    const receiver = await startReceiver({ host: process.env['LEADWIRE_E2E_RECEIVER_HOST'] ?? '127.0.0.1' })
    onReceiver(receiver)
    const endpoint = await send<{ id: number; secret: string }>('POST', '/manage/webhook-endpoints', {
      json: { url: receiver.url, ...fields },
    })
    return { receiver, id: endpoint.id, secret: endpoint.secret }
  }
  const newSignInLink = async (userId: number) => {
    const url = await createSignInLink({ accountId: account.id, userId })
    return url.split('#sign-in=')[1]!
  }
  let users = 0
  return {
    account,
    token,
    client,
    send,
    newUser: (role, fields = {}) => {
      users += 1
      const json = { name: `User ${users}`, email: `user-${users}@example.com`, role, ...fields }
      return send('POST', '/manage/users', { json })
    },
    newSignInLink,
    signIn: async (userId) => {
      const secret = await newSignInLink(userId)
      const { status, text, headers } = await client.request('POST', '/sessions', { token: secret })
      if (status !== 200) throw new Error(`the response to POST /sessions was ${status}: ${text}`)
      return readCookie(headers['set-cookie'])
    },
    createLead: (change = {}) => send<Lead>('POST', '/leads', { json: { ...LEAD, ...change } }),
    newToken: (fields) =>
      send('POST', '/manage/tokens', { json: { name: 'Spec', scopes: ['leads'], ...fields } }),
    listen,
  }
}
