/**
 * The sign-in of this tab.
 *
 * A tab can have a token, which a person pasted or which a portal link or /docs stored. A tab without a token
 * uses the session cookie of the browser. Scripts cannot read the cookie, so only the response to GET /me
 * shows whether there is a session.
 *
 * States:
 *
 * - `checking`: no response to GET /me has arrived yet.
 * - `failed`: GET /me failed with a problem other than 401.
 * - `out`: not signed in. The sign-in page replaces all other pages.
 * - `link`: the console was opened with a sign-in link. A page asks the user to confirm the sign-in.
 * - `choice`: the identity provider has identified a user of several accounts. A page asks for the account.
 * - `in`: `me` is signed in.
 * - `ended`: the token or the session of `me` has ended. The page stays, and a dialog asks for a new sign-in.
 *
 * Transitions:
 *
 * - Every state becomes `in` after a sign-in (`enter`).
 * - `checking` and `failed` become `out` or `failed`, and `in` becomes `ended`, when GET /me fails (`end`,
 *   `fail`).
 * - `in` and `ended` become `out` when the user signs out (`leave`).
 * - `link` and `choice` become `out` when the link cannot be used (`leave`).
 *
 * Invariants:
 *
 * - `in` and `ended` show the same page, so input survives the end of a session.
 * - If another person signs in, the tab reloads and drops the page of the first person (`enter`).
 * - The response to a check is ignored if the state has changed since the request (`startCheck`).
 */
import type { components, LeadwireProblem } from '@leadwire/client'
import { computed, signal } from '@preact/signals'

type Me = components['schemas']['Me']

/** A sign-in link for one of the accounts of a user. */
export interface Choice {
  account: string
  secret: string
}

export type Access =
  | { state: 'checking' }
  | { state: 'failed'; problem: LeadwireProblem }
  | { state: 'out'; because?: string }
  | { state: 'link'; secret: string }
  | { state: 'choice'; choices: Choice[] }
  | { state: 'in'; me: Me }
  | { state: 'ended'; me: Me; because: string }

const STORAGE_KEY = 'leadwire.token'
export const TOKEN_ENDED = 'The token is unknown, revoked or expired.'
const SESSION_ENDED = 'Your session has ended.'

const SESSION_KEY = 'leadwire.has-session'

/**
 * Returns whether this browser may have a session cookie, which scripts cannot read. Without this mark, each
 * visit to the sign-in page would send a request that fails, and the browser would report an error.
 */
export const mayHaveSession = (): boolean => localStorage.getItem(SESSION_KEY) !== null

/** Called when the session of this browser has ended. */
export const forgetSession = (): void => localStorage.removeItem(SESSION_KEY)

// Earlier versions stored a token for all tabs.
localStorage.removeItem(STORAGE_KEY)

/** The token of this tab, or null. /docs uses the same storage key. */
export const token = signal(sessionStorage.getItem(STORAGE_KEY))

/** Stores a token for this tab, or deletes the token. */
export const setToken = (given: string | null): void => {
  if (given === null) sessionStorage.removeItem(STORAGE_KEY)
  else sessionStorage.setItem(STORAGE_KEY, given)
  token.value = given
}

export const access = signal<Access>({ state: 'checking' })

/** The user or the token whose pages are shown. */
export const me = computed(() => ('me' in access.value ? access.value.me : undefined))

let check: AbortController | undefined

/** Returns a signal that is aborted when the state changes or another check starts. */
export const startCheck = (): AbortSignal => {
  check?.abort()
  check = new AbortController()
  return check.signal
}

export const isChecking = (): boolean => check !== undefined

const change = (next: Access): void => {
  check?.abort()
  check = undefined
  access.value = next
}

/**
 * Returns whether two responses to GET /me belong to different persons. A token counts as the same person as
 * every user and token of its account, because an ended token cannot be used to sign in again.
 */
const isOtherPerson = (before: Me, now: Me): boolean =>
  before.account.id !== now.account.id ||
  (before.type === 'user' && now.type === 'user' && before.id !== now.id)

/** Shows the pages of a user or a token. */
export const enter = (found: Me): void => {
  if (found.type === 'user') localStorage.setItem(SESSION_KEY, 'yes')
  if (me.value && isOtherPerson(me.value, found)) location.reload()
  else change({ state: 'in', me: found })
}

/** Called when the token or the session turns out to be invalid. Deletes the token. */
export const end = (): void => {
  const hadToken = token.value !== null
  if (hadToken) setToken(null)
  else forgetSession()
  const { value } = access
  if (value.state === 'in')
    change({ state: 'ended', me: value.me, because: hadToken ? TOKEN_ENDED : SESSION_ENDED })
  else if (value.state === 'checking' || value.state === 'failed')
    change({ state: 'out', because: hadToken ? TOKEN_ENDED : undefined })
  else change(value)
}

/** Called when a check failed. An open page stays, because its own requests report the problem. */
export const fail = (problem: LeadwireProblem): void => {
  const { value } = access
  const hasPage = value.state !== 'checking' && value.state !== 'failed'
  change(hasPage ? value : { state: 'failed', problem })
}

/** Shows the sign-in page, with the reason if there is one. */
export const leave = (because?: string): void => change({ state: 'out', because })

/** Waits for the next check without a page. */
export const restart = (): void => change({ state: 'checking' })

/** Shows the page that asks whether to sign in with a link. */
export const holdLink = (secret: string): void => change({ state: 'link', secret })

/** Shows the page that asks for one of several accounts. */
export const holdChoices = (choices: Choice[]): void => change({ state: 'choice', choices })

/** Shows the sign-in dialog again if the user has closed the dialog. A running check continues. */
export const askAgain = (): void => {
  access.value = { ...access.value }
}
