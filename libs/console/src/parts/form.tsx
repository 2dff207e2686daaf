import { type ComponentChildren, createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { asProblem, type Problem, renderProblem } from '../api'
import { clearNotice } from './notices'

export type FieldErrors = Record<string, string[]>

/** A prefix for the ids of fields. Needed if several forms of a page have fields of the same name. */
export const IdPrefix = createContext('')

interface FieldProps {
  name: string
  label: string
  help?: ComponentChildren
  errors?: FieldErrors
  class?: string
  /** Renders the input, select or textarea with these attributes. */
  children: (attributes: {
    id: string
    name: string
    'aria-invalid': boolean | undefined
    'aria-describedby': string | undefined
  }) => ComponentChildren
}

/** Returns the errors of a field and of its elements: `events` includes `events.0`. */
const listErrors = (name: string, errors: FieldErrors) =>
  Object.entries(errors)
    .filter(([field]) => field === name || field.startsWith(`${name}.`))
    .flatMap(([, texts]) => texts)

/** A labelled field with its help and the errors from the API. */
export const Field = ({ name, label, help, errors = {}, class: className, children }: FieldProps) => {
  const own = listErrors(name, errors)
  const id = useContext(IdPrefix) + name
  const described = [help && `${id}-help`, own.length > 0 && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class={`field ${className ?? ''}`}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        name,
        'aria-invalid': own.length > 0 || undefined,
        'aria-describedby': described || undefined,
      })}
      {help && (
        <p class="faint help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {own.length > 0 && (
        <p class="error" id={`${id}-error`} role="alert">
          {own.join(' ')}
        </p>
      )}
    </div>
  )
}

/** A group of checkboxes with one name, such as the event types of an endpoint. */
export const Boxes = ({
  name,
  label,
  options,
  checked,
  errors = {},
}: {
  name: string
  label: string
  options: [value: string, text: string][]
  checked: string[]
  errors?: FieldErrors
}) => {
  const own = listErrors(name, errors)
  const id = useContext(IdPrefix) + name
  return (
    <fieldset aria-describedby={own.length > 0 ? `${id}-error` : undefined}>
      <legend>{label}</legend>
      {options.map(([value, text]) => (
        <label key={value} class="box">
          <input type="checkbox" name={name} value={value} defaultChecked={checked.includes(value)} /> {text}
        </label>
      ))}
      {own.length > 0 && (
        <p class="error" id={`${id}-error`} role="alert">
          {own.join(' ')}
        </p>
      )}
    </fieldset>
  )
}

export const Options = ({
  options,
  chosen,
}: {
  options: [value: string, text: string][]
  chosen?: string | null
}) => (
  <>
    {options.map(([value, text]) => (
      <option key={value} value={value} selected={value === (chosen ?? '')}>
        {text}
      </option>
    ))}
  </>
)

/**
 * Handles the submission of a form. Returns the errors by field, a message (`failure`) for a problem that no
 * field shows, and whether the form is being sent.
 */
export const useForm = (send: (fields: FormData) => Promise<unknown>, names: string[]) => {
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    clearNotice()
    try {
      await send(new FormData(event.currentTarget as HTMLFormElement))
      setProblem(undefined)
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  const errors = problem?.errors ?? {}
  const isShownAtFields = problem && names.some((name) => listErrors(name, errors).length > 0)
  const failure = problem && !isShownAtFields && (
    <p class="error" role="alert">
      {renderProblem(problem)}
    </p>
  )
  return { onSubmit, errors, failure, isBusy }
}
