import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sayNothing, sayProblem } from './notices'

interface ActionProps {
  label: string
  /** What it does. What it throws is shown as a problem. */
  run: () => Promise<unknown>
  /** Asks first. */
  confirm?: { title: string; text: ComponentChildren; yes: string }
  quiet?: boolean
  danger?: boolean
}

/** A button that does something, at once or after a question. It can't be pressed twice at a time. */
export const Action = ({ label, run, confirm, quiet, danger }: ActionProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    if (isBusy) return
    dialog.current?.close()
    setBusy(true)
    sayNothing()
    try {
      await run()
    } catch (error) {
      sayProblem(error)
    } finally {
      setBusy(false)
    }
  }
  const name = [quiet && 'quiet', danger && 'danger'].filter(Boolean).join(' ')
  return (
    <>
      <button
        type="button"
        class={name}
        aria-busy={isBusy}
        onClick={() => (confirm ? dialog.current?.showModal() : act())}
      >
        {label}
      </button>
      {confirm && (
        <dialog ref={dialog} class="card padded" aria-label={confirm.title}>
          <h2>{confirm.title}</h2>
          {confirm.text}
          <div class="actions">
            <button type="button" class={danger ? 'danger' : ''} onClick={act}>
              {confirm.yes}
            </button>
            <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </dialog>
      )}
    </>
  )
}
