/** Values that JSON can hold. Data of a panel is made of these only. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
