package main

import (
	"errors"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// A gormClient does the actions by GORM.
type gormClient struct{ db *gorm.DB }

func (author) TableName() string { return "authors" }
func (post) TableName() string   { return "posts" }

func openGORM(url string) (client, error) {
	db, err := gorm.Open(postgres.Open(url), &gorm.Config{Logger: logger.Discard})
	return gormClient{db}, err
}

func (c gormClient) Connect() error { return c.db.Exec("SELECT 1").Error }

func get(db *gorm.DB, k int) (*post, error) {
	var one post
	err := db.First(&one, k).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	return &one, err
}

func (c gormClient) Get(k int) (*post, error) { return get(c.db, k) }

func (c gormClient) Unique(email string) (one author, err error) {
	return one, c.db.Where("email = ?", email).First(&one).Error
}

func (c gormClient) List(k int) (list []post, err error) {
	return list, c.db.Where("author_id = ?", k).Order("created_at DESC, id DESC").Limit(20).
		Find(&list).Error
}

func (c gormClient) Count(k int) (n int64, err error) {
	return n, c.db.Model(&post{}).Where("author_id = ?", k).Count(&n).Error
}

func (c gormClient) Exists(k int) (found bool, err error) {
	var one []int
	err = c.db.Model(&post{}).Select("1").Where("author_id = ?", k).Limit(1).Find(&one).Error
	return len(one) > 0, err
}

func (c gormClient) Preload(upTo int) (both preloaded, err error) {
	err = c.db.Preload("Author").Where("id <= ?", upTo).Order("id").Find(&both.Posts).Error
	return both, err
}

func (c gormClient) Insert(k int) (int, error) {
	one := post{AuthorID: k, Title: "new"}
	err := c.db.Omit("Published", "Views", "CreatedAt").Create(&one).Error
	return one.ID, err
}

func (c gormClient) Update(k int) error {
	one, err := c.Get(k)
	if err == nil {
		one.Title, one.Views = "changed", one.Views+1
		err = c.db.Save(one).Error
	}
	return err
}

func (c gormClient) Delete(k int) error { return c.db.Delete(&post{}, k).Error }

func (c gormClient) Transaction(k int) (found *post, err error) {
	err = c.db.Transaction(func(tx *gorm.DB) (err error) {
		found, err = get(tx, k)
		return err
	})
	return found, err
}
