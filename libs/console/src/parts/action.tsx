import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { type FieldErrors, IdPrefix, useForm } from './form'
import { clearNotice, showProblem } from './notices'

interface Question {
  title: string
  /** The explanation, and the fields of the form if there are any. */
  content: ComponentChildren | ((errors: FieldErrors) => ComponentChildren)
  /** The label of the button that confirms. */
  yes: string
  /** The names of the form's fields. */
  names?: string[]
}

interface ActionProps {
  label: string
  /** Called with the fields of the dialog's form. An error is shown as a problem. */
  run: (fields: FormData) => Promise<unknown>
  /** A dialog that is shown before the action. */
  question?: Question
  quiet?: boolean
  danger?: boolean
}

const renderClass = ({ quiet, danger }: Pick<ActionProps, 'quiet' | 'danger'>) =>
  [quiet && 'quiet', danger && 'danger'].filter(Boolean).join(' ')

const WithDialog = ({ label, run, question, ...look }: ActionProps & { question: Question }) => {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const close = () => dialog.current?.close()
  const { title, content, yes, names = [] } = question
  const [runs, setRuns] = useState(0)
  const form = useForm(async (fields) => {
    await run(fields)
    close()
    // Renders new fields, so that the dialog starts with the current values when it is opened again.
    setRuns(runs + 1)
  }, names)
  return (
    <>
      <button type="button" class={renderClass(look)} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} class="card" aria-label={title}>
        <form class="padded" aria-busy={form.isBusy} onSubmit={form.onSubmit}>
          <h2>{title}</h2>
          <IdPrefix.Provider key={runs} value={`${id}-`}>
            {typeof content === 'function' ? content(form.errors) : content}
          </IdPrefix.Provider>
          {form.failure}
          <div class="actions">
            <button type="submit" class={renderClass({ danger: look.danger })}>
              {yes}
            </button>
            <button type="button" class="quiet" onClick={close}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}

const Immediate = ({ label, run, ...look }: ActionProps) => {
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    if (isBusy) return
    setBusy(true)
    clearNotice()
    try {
      await run(new FormData())
    } catch (error) {
      showProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" class={renderClass(look)} aria-busy={isBusy} onClick={act}>
      {label}
    </button>
  )
}

/** A button that runs an action, immediately or after a dialog. It ignores clicks while the action runs. */
export const Action = ({ question, ...action }: ActionProps) =>
  question ? <WithDialog {...action} question={question} /> : <Immediate {...action} />
