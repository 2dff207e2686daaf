import { useEffect, useRef } from 'preact/hooks'
import { access } from '../session'
import { IdPrefix } from './form'
import { SignInForms } from './sign-in-forms'

/**
 * Asks for a new sign-in after the session or the token has ended. The dialog lies over the page, which keeps
 * its input. The user can close the dialog, for example to copy a text.
 */
export const SignInDialog = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  const { value } = access
  const hasEnded = value.state === 'ended'
  useEffect(() => {
    if (!hasEnded) dialog.current!.close()
    else if (!dialog.current!.open) {
      dialog.current!.showModal()
      if (value.me.type === 'token') document.getElementById('again-token')?.focus()
    }
  }, [value])
  return (
    <dialog ref={dialog} class="card" aria-labelledby="ended" aria-describedby="ended-because">
      {hasEnded && (
        <div class="padded">
          <h2 id="ended">Sign in again</h2>
          <p id="ended-because">{`${value.because} This page keeps what you typed.`}</p>
          <IdPrefix.Provider value="again-">
            <SignInForms prefersToken={value.me.type === 'token'} keepsTab />
          </IdPrefix.Provider>
          <div class="actions">
            <button type="button" class="quiet" onClick={() => dialog.current!.close()}>
              Close
            </button>
          </div>
        </div>
      )}
    </dialog>
  )
}
