import { type ComponentChildren, createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { asProblem, type Problem, sentenceOf } from '../api'
import { sayNothing } from './notices'

export type FieldErrors = Record<string, string[]>

/** What the ids of fields start with, where a page has several forms with fields of the same names. */
export const IdPrefix = createContext('')

interface FieldProps {
  name: string
  label: string
  help?: ComponentChildren
  errors?: FieldErrors
  class?: string
  /** The input, select or textarea, with the attributes given. */
  children: (attributes: {
    id: string
    name: string
    'aria-invalid': boolean | undefined
    'aria-describedby': string | undefined
  }) => ComponentChildren
}

/** The errors of a field and of what is in it: `events` has those of `events.0`. */
const errorsOf = (name: string, errors: FieldErrors) =>
  Object.entries(errors)
    .filter(([field]) => field === name || field.startsWith(`${name}.`))
    .flatMap(([, texts]) => texts)

/** A labelled field with its help and the errors that the API has for it. */
export const Field = ({ name, label, help, errors = {}, class: className, children }: FieldProps) => {
  const own = errorsOf(name, errors)
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

/** Several boxes under one name, such as the types of an endpoint. */
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
  const own = errorsOf(name, errors)
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

/** Sends a form: its errors by field, what is wrong beside the fields, and whether it is being sent. */
export const useForm = (send: (fields: FormData) => Promise<unknown>, names: string[]) => {
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    sayNothing()
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
  const isShownAtFields = problem && names.some((name) => errorsOf(name, errors).length > 0)
  const failure = problem && !isShownAtFields && (
    <p class="error" role="alert">
      {sentenceOf(problem)}
    </p>
  )
  return { onSubmit, errors, failure, isBusy }
}
