import { signal } from '@preact/signals'

const STORAGE_KEY = 'leadwire.token'

/**
 * Reads the stored token. A token for this tab, which /docs may have stored, takes precedence over the token
 * for all tabs.
 */
const read = () => sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY)

export const token = signal(read())

/** The reason why the last session ended. The sign-in page shows it. */
export const endedBecause = signal<string>()

/**
 * Stores a token for this tab, or with `everywhere` for all tabs of this browser until the user signs out.
 */
export const signIn = (given: string, everywhere: boolean): void => {
  // Removes an older token of this tab, which would take precedence after a reload.
  sessionStorage.removeItem(STORAGE_KEY)
  const storage = everywhere ? localStorage : sessionStorage
  storage.setItem(STORAGE_KEY, given)
  endedBecause.value = undefined
  token.value = given
}

/**
 * Ends the session. If the user signs out, deletes the tokens of this tab and of all tabs. If the token has
 * become invalid (`because`), deletes only that token.
 */
export const signOut = (because?: string): void => {
  for (const storage of [sessionStorage, localStorage]) {
    if (!because || storage.getItem(STORAGE_KEY) === token.value) storage.removeItem(STORAGE_KEY)
  }
  endedBecause.value = because
  token.value = null
}

/** Shows the sign-in page in this tab and keeps the stored tokens. */
export const pause = (because: string): void => {
  endedBecause.value = because
  token.value = null
}

// Signs in or out when another tab does.
addEventListener('storage', ({ key }) => {
  if (key === STORAGE_KEY || key === null) token.value = read()
})
