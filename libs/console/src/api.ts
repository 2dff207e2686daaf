import { type components, createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import { grants, SCOPES, type Scope } from '@leadwire/contracts/scopes'
import { computed } from '@preact/signals'
import {
  access,
  askAgain,
  end,
  enter,
  fail,
  isChecking,
  mayHaveSession,
  me,
  startCheck,
  token,
} from './session'

export type Schemas = components['schemas']
export type Me = Schemas['Me']
export { LeadwireProblem as Problem, type Scope }

// The console's scripts are in the folder `assets` below the console's path, so `..` is the console and
// `../..` is the API. A variable holds `import.meta.url`, because Vite would treat a literal
// `new URL(…, import.meta.url)` as an asset.
const here = import.meta.url
/** The base URL of the API. */
export const root = new URL('../..', here)

/** The path of the console, which the router prepends to its routes. */
export const consolePath = new URL('..', here).pathname.replace(/\/$/, '')

/** Returns a `fetch` for requests with a token, or with the session cookie if `given` is null. */
const sendAs =
  (given: string | null): typeof fetch =>
  (input, init) => {
    const credentials = given === null ? 'same-origin' : 'omit'
    // The client always adds this header. The gateway ignores the cookie of a request that has the header.
    if (given === null) (input as Request).headers.delete('authorization')
    return fetch(input, { ...init, cache: 'no-store', credentials })
  }

const NOT_SIGNED_IN = { title: 'Not signed in', detail: 'You are not signed in. Sign in, then try again.' }

/** Returns a `fetch` for the requests of pages, which notices the end of the token or the session. */
const sendForPage =
  (given: string | null): typeof fetch =>
  async (input, init) => {
    if (access.value.state === 'ended') {
      // Opens the dialog for an action of the user, but not when a page polls.
      if ((input as Request).method !== 'GET') askAgain()
      return new Response(JSON.stringify(NOT_SIGNED_IN), { status: 401 })
    }
    const response = await sendAs(given)(input, init)
    // Ignores a 401 for an earlier token, because the current token may be valid.
    if (response.status === 401 && given === token.value && !isChecking()) void checkAccess()
    return response
  }

// The client makes no retries, because the user can try again.
const createClient = (given: string | null, send: typeof fetch, timeoutMs?: number) =>
  createLeadwire({ baseUrl: root.href, token: given ?? '', fetch: send, retries: 0, timeoutMs })

const client = computed(() => createClient(token.value, sendForPage(token.value)))
const clientWithoutTimeout = computed(() => createClient(token.value, sendForPage(token.value), 0))

/** Returns the typed API for the requests of pages. Every operation throws Problem for an error response. */
export const api = () => client.value.api

/** Returns the typed API without a time limit, for uploads and downloads of files. */
export const slowApi = () => clientWithoutTimeout.value.api

/** Returns the operations on one lead, which check the reference before they send a request. */
export const leadsApi = (): Leadwire['leads'] => client.value.leads

/** The typed API with the cookies of the browser. A 401 does not change the page. */
export const cookieApi = createClient(null, sendAs(null)).api

/** Returns the typed API for the secret of a link. Sends and accepts cookies. */
export const createLinkApi = (secret: string): Leadwire['api'] =>
  createLeadwire({ baseUrl: root.href, token: secret, retries: 0 }).api

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

/** Loads who has a token, or who is signed in with the session cookie if `given` is null. */
export const loadMe = async (given: string | null, signal?: AbortSignal): Promise<Me> =>
  (await readData(createClient(given, sendAs(given)).api.GET('/me', { signal }))).data

/** Loads who is signed in, and shows the pages or the sign-in page accordingly. */
export const checkAccess = async (): Promise<void> => {
  if (token.value === null && !mayHaveSession()) return end()
  const signal = startCheck()
  const found = await loadMe(token.value, signal).catch(asProblem)
  if (signal.aborted) return
  if (!(found instanceof LeadwireProblem)) enter(found)
  else if (found.status === 401) end()
  else fail(found)
}

/** The endpoint that the token is restricted to. null if it is not restricted. */
export const ownEndpoint = computed(() => me.value?.endpoint_id ?? null)

/** The scopes of the signed-in user or token, including implied scopes. */
export const ownScopes = computed(() => {
  const scopes = me.value?.scopes ?? []
  return new Set<Scope>(SCOPES.filter((scope) => grants(scopes, [scope])))
})
