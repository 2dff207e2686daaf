import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { type FieldErrors, IdPrefix, useForm } from './form'
import { sayNothing, sayProblem } from './notices'

interface Question {
  title: string
  /** What it will do, and the fields of its form if it has any. */
  content: ComponentChildren | ((errors: FieldErrors) => ComponentChildren)
  yes: string
  /** The names of its fields. */
  names?: string[]
}

interface ActionProps {
  label: string
  /** Gets the fields of the question's form. What it throws is shown as a problem. */
  run: (fields: FormData) => Promise<unknown>
  /** What is asked first. */
  question?: Question
  quiet?: boolean
  danger?: boolean
}

const classOf = ({ quiet, danger }: Pick<ActionProps, 'quiet' | 'danger'>) =>
  [quiet && 'quiet', danger && 'danger'].filter(Boolean).join(' ')

const Asking = ({ label, run, question, ...look }: ActionProps & { question: Question }) => {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const close = () => dialog.current?.close()
  const { title, content, yes, names = [] } = question
  const [runs, setRuns] = useState(0)
  const form = useForm(async (fields) => {
    await run(fields)
    close()
    // The next time its fields have what is true then.
    setRuns(runs + 1)
  }, names)
  return (
    <>
      <button type="button" class={classOf(look)} onClick={() => dialog.current?.showModal()}>
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
            <button type="submit" class={classOf({ danger: look.danger })}>
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
    sayNothing()
    try {
      await run(new FormData())
    } catch (error) {
      sayProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" class={classOf(look)} aria-busy={isBusy} onClick={act}>
      {label}
    </button>
  )
}

/** A button that does something, at once or after a question. It can't be pressed twice at a time. */
export const Action = ({ question, ...action }: ActionProps) =>
  question ? <Asking {...action} question={question} /> : <Immediate {...action} />
