/**
 * Sign-in with the identity provider. The person leaves the console for the provider. The gateway then opens
 * the console again, with the result in the fragment of the URL (apps/gateway/src/sign-in/single-sign-on.ts).
 */
import { consolePath, cookieApi, readData, type Schemas } from './api'

import { type Choice, holdChoices, holdLink, leave } from './session'
import { openLink } from './sign-in'

const PAGE_KEY = 'leadwire.page'

/**
 * The prefix of links that the console opens without a question. Such a link works only in the browser that
 * was at the provider. An attacker therefore cannot sign a person in to the attacker's account.
 */
const PREFIX = 'lw_sso_'

const FAILURES: Record<string, string> = {
  denied: 'The identity provider did not let you in. Try again, or ask your administrator.',
  unverified: 'The identity provider has not confirmed your e-mail address. Ask your administrator.',
  unknown: 'You have no access here. Ask an admin of your account to invite you.',
  unavailable: 'The identity provider does not respond. Try again later, or ask for a link by e-mail.',
}

/** Loads the ways to sign in. */
export const loadMethods = async (signal: AbortSignal): Promise<Schemas['SignInMethods']> =>
  (await readData(cookieApi.GET('/sign-in-methods', { signal }))).data

/** Remembers the page of this tab, to which the sign-in returns. */
export const keepPage = (): void => sessionStorage.setItem(PAGE_KEY, `${location.pathname}${location.search}`)

/** Returns the path to which the sign-in returns, and forgets it. */
export const takePage = (): string => {
  const page = sessionStorage.getItem(PAGE_KEY) ?? ''
  sessionStorage.removeItem(PAGE_KEY)
  return page.startsWith(consolePath) ? page : consolePath
}

/** Opens a link without a question if the identity provider has just identified the person. */
export const openAtOnce = async (secret: string): Promise<void> => {
  holdLink(secret)
  // If the link cannot be opened now, the page with the button stays.
  if (secret.startsWith(PREFIX)) await openLink(secret).catch(() => undefined)
}

const isChoice = ({ account, secret }: Partial<Choice>): boolean =>
  typeof account === 'string' && typeof secret === 'string' && secret.startsWith(PREFIX)

const parseChoices = (text: string): Choice[] => {
  try {
    const choices: Choice[] = JSON.parse(decodeURIComponent(text))
    return choices.filter(isChoice)
  } catch {
    return []
  }
}

/** Shows the accounts of which the person chooses one. */
export const chooseAccount = (text: string): void => {
  const choices = parseChoices(text)
  if (choices.length > 0) holdChoices(choices)
  else showFailure('failed')
}

/** Shows the sign-in page with the reason of a failure. */
export const showFailure = (reason: string): void =>
  leave(FAILURES[reason] ?? 'The sign-in with the identity provider failed. Try again.')
