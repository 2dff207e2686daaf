import { type components, createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import { grants, SCOPES, type Scope } from '@leadwire/contracts/scopes'
import { computed, signal } from '@preact/signals'
import { pause, signIn, signOut, token } from './session'

export type Schemas = components['schemas']
export { LeadwireProblem as Problem, type Scope }

// The parts of the console lie in a folder of it. Vite takes a literal `new URL(…, import.meta.url)` for a part.
const here = import.meta.url
const root = new URL('../..', here)

/** The path of the console, which the router puts before each of its own. */
export const consolePath = new URL('..', here).pathname.replace(/\/$/, '')

const send: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, cache: 'no-store', credentials: 'omit' })
  // The answer to a request of an earlier token says nothing of this one.
  if (response.status === 401 && (input as Request).headers.get('authorization') === `Bearer ${token.value}`)
    signOut('The token is not valid: it is unknown, revoked or expired.')
  return response
}

// The reader tries again: no retries.
const clientOf = (timeoutMs?: number) =>
  computed(() =>
    createLeadwire({ baseUrl: root.href, token: token.value ?? '', fetch: send, retries: 0, timeoutMs }),
  )
const client = clientOf()
const patientClient = clientOf(0)

/** The typed API with the reader's token. Every operation throws Problem for an error response. */
export const api = () => client.value.api

/** The same without a time limit, for files. */
export const slowApi = () => patientClient.value.api

/** Operations on one lead, which check its reference first. */
export const leadsApi = (): Leadwire['leads'] => client.value.leads

/** The OpenAPI document, as far as the console reads it. */
export const loadDocument = async (): Promise<{
  components: {
    schemas: Record<
      string,
      { properties: Record<string, { description?: string; examples?: unknown[] }>; required: string[] }
    >
  }
}> => (await fetch(new URL('openapi.json', root))).json()

/** What the API answered. */
export const dataOf = async <Data>(answer: Promise<{ data?: Data }>): Promise<Data> =>
  (await answer).data as Data

export const asProblem = (error: unknown): LeadwireProblem =>
  error instanceof LeadwireProblem
    ? error
    : new LeadwireProblem(0, { title: 'The console failed', detail: String(error) })

/** A problem as a short message: the errors of the fields, else its message. */
export const sentenceOf = (problem: LeadwireProblem): string =>
  Object.values(problem.errors).flat().join(' ') || problem.message

/** For a list, which shows what is wrong with a filter at its field. */
export const invalidOnly = (error: unknown): LeadwireProblem => {
  if (error instanceof LeadwireProblem && error.status === 422) return error
  throw error
}

/** The one endpoint that the token sees; null where it is not of one alone. */
export const ownEndpoint = signal<number | null>(null)

/** The scopes of the reader's token, with those that they include. */
export const findScopes = async (): Promise<Set<Scope>> => {
  const { scopes, endpoint_id } = (await dataOf(api().GET('/token'))).data
  ownEndpoint.value = endpoint_id
  return new Set(SCOPES.filter((scope) => grants(scopes, [scope])))
}

/** Exchanges what a portal link has behind its `#portal=` for a session, which stays in this tab. */
export const openPortal = async (link: string): Promise<void> => {
  const client = createLeadwire({ baseUrl: root.href, token: link, retries: 0 })
  const session = await dataOf(client.api.POST('/portal-sessions')).catch(asProblem)
  if (session instanceof LeadwireProblem) pause(`The link can't be opened. ${sentenceOf(session)}`)
  else signIn(session.data.token, false)
}
