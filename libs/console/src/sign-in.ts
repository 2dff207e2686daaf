import {
  asProblem,
  checkAccess,
  cookieApi,
  createLinkApi,
  loadMe,
  type Me,
  Problem,
  readData,
  renderProblem,
} from './api'
import { access, enter, forgetSession, leave, me, restart, setToken, TOKEN_ENDED, token } from './session'

type Message = 'signed-in' | 'signed-out'

const otherTabs = new BroadcastChannel('leadwire.session')

const notifyOtherTabs = (message: Message) => otherTabs.postMessage(message)

otherTabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  // Does not concern a tab with its own token.
  if (token.value !== null || ['link', 'choice'].includes(access.value.state)) return
  if (data === 'signed-in') void checkAccess()
  else if (me.value?.type === 'user') leave('You signed out in another tab.')
})

let hasRequestedLink = false

addEventListener('focus', () => {
  const { state } = access.value
  if (state === 'ended' || (state === 'out' && hasRequestedLink)) void checkAccess()
})

/**
 * Sends a sign-in link by e-mail, if the address may sign in. Returns how long the link works, in minutes.
 */
export const requestLink = async (email: string): Promise<number> => {
  const { data } = await readData(cookieApi.POST('/sign-in-links', { body: { email } }))
  hasRequestedLink = true
  return data.expires_in_minutes
}

const USED = 'This link has expired or was used. Ask for a new one.'

// A link that was used in the last half second may get 409 instead of 401.
const LINK_PROBLEMS: Record<number, string> = {
  401: USED,
  409: USED,
  403: 'Open the link in the browser in which you asked for it, or ask for a new one here.',
}

/**
 * Returns whom a link signs in. Shows the sign-in page if the link works no longer. Returns undefined if the
 * answer is not known, because the link may still work.
 */
export const identifyLink = async (secret: string, signal: AbortSignal): Promise<Me | undefined> => {
  const found = await readData(createLinkApi(secret).GET('/me', { signal })).catch(asProblem)
  if (!(found instanceof Problem)) return found.data
  if (found.status === 401) leave(USED)
  return undefined
}

/**
 * Signs in with the secret of a sign-in link. Shows the sign-in page if the link cannot be used. Throws any
 * other problem, after which the same secret can be tried again.
 */
export const openLink = async (secret: string): Promise<void> => {
  const opened = await readData(createLinkApi(secret).POST('/sessions')).catch(asProblem)
  if (opened instanceof Problem) {
    const because = LINK_PROBLEMS[opened.status]
    if (!because) throw opened
    leave(because)
    return
  }
  // A token of this tab would take precedence over the session.
  setToken(null)
  enter(opened.data)
  notifyOtherTabs('signed-in')
}

/** Exchanges the secret of a portal link for a token of this tab. */
export const openPortal = async (secret: string): Promise<void> => {
  const opened = await readData(createLinkApi(secret).POST('/portal-sessions')).catch(asProblem)
  if (opened instanceof Problem) {
    // Keeps the stored token of this tab, which works again after a reload.
    token.value = null
    leave(`The link can't be opened. ${renderProblem(opened)}`)
  } else {
    setToken(opened.data.token)
  }
}

const refuseToken = (text: string): never => {
  throw new Problem(422, { errors: { token: [text] } })
}

/** Signs in this tab with a token. Throws a problem with an error of the field `token` for a wrong token. */
export const signInWithToken = async (given: string): Promise<void> => {
  // Rejects characters that an HTTP header cannot carry.
  if (!/^[\x21-\x7e]+$/.test(given)) refuseToken('This is not a token.')
  const found = await loadMe(given).catch(asProblem)
  if (found instanceof Problem) {
    if (found.status === 401) refuseToken(TOKEN_ENDED)
    throw found
  }
  setToken(given)
  enter(found)
}

/** Ends the session of this browser. */
const endSession = async (id: number): Promise<void> => {
  const ended = await cookieApi.DELETE('/me/sessions/{id}', { params: { path: { id } } }).catch(asProblem)
  const hasEndedBefore = ended instanceof Problem && (ended.status === 401 || ended.status === 404)
  if (ended instanceof Problem && !hasEndedBefore) throw ended
  forgetSession()
  leave()
  notifyOtherTabs('signed-out')
}

/** Signs out. Deletes the token of this tab, or else ends the session of the browser. */
export const signOut = async (): Promise<void> => {
  const session = me.value?.session_id
  if (token.value === null && session) return endSession(session)
  // A tab without a token shows the session of the browser, if there is one.
  setToken(null)
  restart()
  await checkAccess()
}
