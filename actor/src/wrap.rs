//! Text broken into lines.

/// `text` in lines of at most `width` letters where its words allow that, all but the first behind `indent`. A percent
/// sign stays with its number.
pub fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut() {
            Some(line) if fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n").replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_words_allow() {
        assert_eq!(wrap("one two three", "", 7), "one two\nthree"); // 3 + 1 + 3 = 7
        assert_eq!(wrap("one two three", "  ", 7), "one two\n  three");
        assert_eq!(wrap("extraordinary one", "  ", 6), "extraordinary\n  one");
        assert_eq!(wrap("  one  two ", "", 80), "one two");
        assert_eq!(wrap("", "  ", 80), "");
        assert_eq!(wrap("above 5 %", "", 7), "above\n5 %"); // not "above 5", which fits
    }
}
