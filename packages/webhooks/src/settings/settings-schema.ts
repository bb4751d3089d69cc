/** One problem of settings, at the path of the property. The message never quotes a value. */
export interface SettingsProblem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

export type SettingsResult<Settings> =
  | { readonly success: true; readonly data: Settings; readonly error?: undefined }
  | {
      readonly success: false
      readonly data?: undefined
      readonly error: { readonly issues: readonly SettingsProblem[] }
    }

/** Checks settings. Zod schemas have this form, and the types of the package need no Zod. */
export interface SettingsSchema<Settings> {
  safeParse(settings: unknown): SettingsResult<Settings>
}
