import { signal } from '@preact/signals'

const KEPT_AS = 'leadwire.token'

/** The storage of this tab, which ends with it, comes first: /docs puts its token there. */
const read = () => sessionStorage.getItem(KEPT_AS) ?? localStorage.getItem(KEPT_AS)

export const token = signal(read())

/** Why the last token ended; shown at sign-in. */
export const endedBecause = signal<string>()

/** `everywhere`: in all tabs of this browser, until the reader signs out; else in this tab alone. */
export const signIn = (given: string, everywhere: boolean): void => {
  // One that this tab keeps would come first after a reload.
  sessionStorage.removeItem(KEPT_AS)
  const storage = everywhere ? localStorage : sessionStorage
  storage.setItem(KEPT_AS, given)
  endedBecause.value = undefined
  token.value = given
}

/** Deletes the token, and with it, unless it ended by itself, the one of the other tabs. */
export const signOut = (because?: string): void => {
  for (const storage of [sessionStorage, localStorage])
    if (!because || storage.getItem(KEPT_AS) === token.value) storage.removeItem(KEPT_AS)
  endedBecause.value = because
  token.value = null
}

/** Shows the sign-in in this tab, and keeps the token of the others. */
export const pause = (because: string): void => {
  endedBecause.value = because
  token.value = null
}

// Another tab signed in or out.
addEventListener('storage', ({ key }) => {
  if (key === KEPT_AS || key === null) token.value = read()
})
