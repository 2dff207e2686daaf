import { type components, createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import { grants, SCOPES, type Scope } from '@leadwire/contracts/scopes'
import { computed, signal } from '@preact/signals'
import { pause, signIn, signOut, token } from './session'

export type Schemas = components['schemas']
export { LeadwireProblem as Problem, type Scope }

// The console's scripts are in the folder `assets` below the console's path, so `..` is the console and
// `../..` is the API. A variable holds `import.meta.url`, because Vite would treat a literal
// `new URL(…, import.meta.url)` as an asset.
const here = import.meta.url
const root = new URL('../..', here)

/** The path of the console, which the router prepends to its routes. */
export const consolePath = new URL('..', here).pathname.replace(/\/$/, '')

const send: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, cache: 'no-store', credentials: 'omit' })
  // Ignores a 401 for an earlier token, because the current token may be valid.
  if (response.status === 401 && (input as Request).headers.get('authorization') === `Bearer ${token.value}`)
    signOut('The token is unknown, revoked or expired. Sign in with another token.')
  return response
}

// The client makes no retries, because the user can try again.
const createClient = (timeoutMs?: number) =>
  computed(() =>
    createLeadwire({ baseUrl: root.href, token: token.value ?? '', fetch: send, retries: 0, timeoutMs }),
  )
const client = createClient()
const clientWithoutTimeout = createClient(0)

/** Returns the typed API with the user's token. Every operation throws Problem for an error response. */
export const api = () => client.value.api

/** Returns the typed API without a time limit, for uploads and downloads of files. */
export const slowApi = () => clientWithoutTimeout.value.api

/** Returns the operations on one lead, which check the reference before they send a request. */
export const leadsApi = (): Leadwire['leads'] => client.value.leads

/** Loads the OpenAPI document. Its type has only the properties that the console uses. */
export const loadDocument = async (): Promise<{
  components: {
    schemas: Record<
      string,
      { properties: Record<string, { description?: string; examples?: unknown[] }>; required: string[] }
    >
  }
}> => (await fetch(new URL('openapi.json', root))).json()

/** Waits for a response and returns its body. */
export const readData = async <Data>(response: Promise<{ data?: Data }>): Promise<Data> =>
  (await response).data as Data

export const asProblem = (error: unknown): LeadwireProblem =>
  error instanceof LeadwireProblem
    ? error
    : new LeadwireProblem(0, { title: 'The console failed', detail: String(error) })

/** Returns a problem as a short message: the errors of its fields, or else its own message. */
export const renderProblem = (problem: LeadwireProblem): string =>
  Object.values(problem.errors).flat().join(' ') || problem.message

/** Returns the error if it is a 422, which a page shows beside its filters. Throws any other error. */
export const requireInvalid = (error: unknown): LeadwireProblem => {
  if (error instanceof LeadwireProblem && error.status === 422) return error
  throw error
}

/** The endpoint that the token is restricted to. null if it is not restricted. */
export const ownEndpoint = signal<number | null>(null)

/** Loads the scopes of the user's token, including implied scopes, and sets `ownEndpoint`. */
export const loadScopes = async (): Promise<Set<Scope>> => {
  const { scopes, endpoint_id } = (await readData(api().GET('/token'))).data
  ownEndpoint.value = endpoint_id
  return new Set(SCOPES.filter((scope) => grants(scopes, [scope])))
}

/** Exchanges the secret of a portal link for a session that is limited to this tab. */
export const openPortal = async (secret: string): Promise<void> => {
  const client = createLeadwire({ baseUrl: root.href, token: secret, retries: 0 })
  const session = await readData(client.api.POST('/portal-sessions')).catch(asProblem)
  if (session instanceof LeadwireProblem) pause(`The link can't be opened. ${renderProblem(session)}`)
  else signIn(session.data.token, false)
}
